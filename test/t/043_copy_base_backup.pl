# Point-in-time recovery from one base backup, twice: the second server must draw above the first, which it never saw.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# All servers share one archive, where a promotion finds the timelines that are taken.
my $origin = new_server('origin', has_archiving => 1, allows_streaming => 1);
my $old = acquire($origin, 'x', '1 s');
my $generation = query($origin, 'SELECT gatepost.token_generation()');
$origin->backup('base');
my $highest = query($origin, q(SELECT max(gatepost.lease_acquire('n-' || n, '1 h')) FROM generate_series(1, 50) n));
query($origin, 'SELECT pg_switch_wal()');
my $archive = $origin->archive_dir;
my $archived = query($origin, 'SELECT last_archived_wal FROM pg_stat_archiver');
$origin->stop('fast');

# The time within the hour is no help to tokens above it.
my @tokens = ($old);
my @generations = ($generation);
for my $copy (qw(first second third))
{
	my $node = PostgreSQL::Test::Cluster->new($copy);
	$node->init_from_backup($origin, 'base', has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf', qq(
recovery_target = 'immediate'
recovery_target_action = 'promote'
recovery_target_timeline = 'current'
archive_mode = on
archive_command = 'cp -n "%p" "$archive/%f"'
));
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die "$copy does not come up";
	my $timeline = query($node, q(SELECT timeline_id FROM pg_control_checkpoint()));
	my $token = acquire($node, "fresh $copy", '1 h');
	cmp_ok($token, '>', $tokens[-1], "$copy copy draws above what the backup and the copies before it had drawn");
	push @generations, query($node, 'SELECT gatepost.token_generation()');
	cmp_ok($generations[-1], '>', $generations[-2], "$copy copy has a higher generation");
	push @tokens, query($node, q(SELECT max(gatepost.lease_acquire('n-' || n, '1 h')) FROM generate_series(1, 50) n));
	ok($node->poll_query_until('postgres', "SELECT gatepost.lease_status('x', $old) = 'lapsed'"),
		"$copy copy: the lease of the backup lapses");
	cmp_ok(acquire($node, 'x', '1 h'), '>', $old, "$copy copy grants its name");
	query($node, 'CHECKPOINT; SELECT pg_switch_wal()');
	$node->poll_query_until('postgres',
		q(SELECT last_archived_wal IS NOT NULL AND failed_count = 0 FROM pg_stat_archiver)) or die 'nothing archived';
	$node->stop('fast');
}
cmp_ok($tokens[1], '>', $highest, 'and above what the origin drew after the backup');

done_testing();
