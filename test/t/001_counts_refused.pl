# Who asks and is refused costs the server no xid, no row lock and no record in the log worth counting.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('counts');

my $token = acquire($node, 'hot', '1 h');
ok($token > 0, 'the name is held');

sub state
{
	my %now;
	@now{qw(xid wal row drawn dead)} = split /\|/, query($node, q(
		SELECT pg_snapshot_xmax(pg_current_snapshot()), pg_current_wal_insert_lsn() - '0/0',
			(SELECT (ctid, xmin, xmax)::text FROM gatepost.lease_slots WHERE name = 'hot'),
			(SELECT last_value FROM gatepost.token_sequence),
			pg_stat_get_dead_tuples('gatepost.lease_slots'::regclass)));
	return \%now;
}

# One transaction: what it was given shows at its end.
my $session = session($node);
session_query($session, 'BEGIN');
is( session_query(
		$session,
		q(SELECT count(gatepost.lease_acquire('hot', '1 s')) FROM generate_series(1, 1000))),
	0,
	'1,000 tries in one transaction are refused');
is(session_query($session, 'SELECT pg_current_xact_id_if_assigned() IS NULL'), 't', 'they took no xid');
is( session_query(
		$session, q(
		SELECT count(*) FROM pg_locks
		WHERE pid = pg_backend_pid() AND (locktype = 'advisory' OR relation IN (
			SELECT oid FROM pg_class WHERE relnamespace = 'gatepost'::regnamespace))
		)),
	0,
	'and kept no lock');
session_query($session, 'COMMIT');

# Nor did they ask for one that stands in the way of who builds an index, say.
session_query($session, 'BEGIN; LOCK TABLE gatepost.lease_slots IN SHARE MODE');
is(acquire($node, 'hot', '1 s'), '', 'a try is refused beside a lock that shuts writers out');
is(query_error($node, q(SELECT gatepost.lease_acquire('free', '1 s'))), '55P03', 'where a free name cannot be granted');
session_query($session, 'COMMIT');

# Many transactions, while the holder renews.
my $before = state();
my $polls = start_load($node, "SELECT gatepost.lease_acquire('hot', '1 s');\n",
	qw(--client=4 --jobs=2 --transactions=25000 --protocol=prepared));
my ($renewals, $lost) = (0, 0);
while ($polls->{run}->pumpable)
{
	$renewals++;
	$lost++ if session_query($session, "SELECT gatepost.lease_renew('hot', $token)") ne 't';
	$polls->{run}->pump_nb;
	wait_monotonic(monotonic() + 0.2);
}
end_load($polls);
my $after = state();

like($polls->{out}, qr{processed: 100000/100000}, '100,000 tries were answered');
is($lost, 0, 'the holder renewed all the while');
is($after->{xid} - $before->{xid}, $renewals, 'each renewal took an xid, the refused tries none');
is($after->{drawn}, $before->{drawn}, 'no token was drawn');
cmp_ok($after->{dead}, '<=', $renewals, 'no dead rows but those of the renewals');
cmp_ok($after->{wal} - $before->{wal}, '<', 20_000 + 2_000 * $renewals, 'hardly a byte of log');

# The same with nobody renewing: the row is not touched.
$before = state();
$node->pgbench(
	'--no-vacuum --client=4 --jobs=2 --transactions=2500 --protocol=prepared',
	0, [qr{processed: 10000/10000}], [qr{^(?!.*ERROR)}s],
	'10,000 tries on a quiet name',
	{ '001_polls' => "SELECT gatepost.lease_acquire('hot', '1 s');\n" });
$after = state();
is($after->{row}, $before->{row}, 'no version, no lock, no xmax on the row');
is($after->{xid}, $before->{xid}, 'no xid');
cmp_ok($after->{wal} - $before->{wal}, '<', 10_000, 'less than a byte of log for each');
is(acquire($node, 'other', '1 s') - $after->{drawn}, 32, 'the next token is the next of the sequence');

$session->quit;
done_testing();
