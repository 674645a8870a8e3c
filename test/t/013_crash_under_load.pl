# The server crashes again and again under workers that take and give back leases. What they were told is the truth
# afterwards: a grant that was reported is held, and no token is below or equal to one that was seen before.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use List::Util qw(max min);
use Test::More;

my $node = new_server('load', conf => "wal_writer_delay = 10s\n");

# A worker's lines: granted TOKEN, renewed, released. What it may find after a crash goes by the last of them: the call
# after it may have been done and not answered, and a release may be lost.
my %right = (granted => qr/^held$/, renewed => qr/^(held|released)$/, released => qr/^(held|released|superseded)$/);
my $script = PostgreSQL::Test::Utils::tempdir() . '/worker.sql';
PostgreSQL::Test::Utils::append_to_file($script, q(
SET synchronous_commit = off;
) . q(
SELECT gatepost.lease_acquire(:'name', '1 h') AS token \gset
\echo granted :token
SELECT CASE WHEN gatepost.lease_renew(:'name', :token) THEN 'renewed' ELSE 'lost' END;
SELECT CASE WHEN gatepost.lease_release(:'name', :token) THEN 'released' ELSE 'lost' END;
) x 20_000);

my @seen = (0);
for my $round (1 .. 3)
{
	my @workers = map { { name => "worker $round $_", out => '' } } 1 .. 3;
	for my $worker (@workers)
	{
		$worker->{run} = IPC::Run::start(
			[
				# Line by line, so that whatever ends it leaves whole lines behind.
				'stdbuf', '-oL', 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', "name=$worker->{name}",
				'-f', $script, '-d', $node->connstr('postgres') ],
			'<', \undef, '>', \$worker->{out}, '2>', \my $errors);
	}
	$node->poll_query_until('postgres',
		"SELECT count(*) = 3 FROM gatepost.leases WHERE name LIKE 'worker $round %' AND renewed_at > acquired_at")
	  or die 'the workers do not work';
	$node->stop('immediate');
	$_->{run}->finish for @workers;
	start_server($node);

	my (@tokens, @broken);
	for my $worker (@workers)
	{
		$worker->{out} =~ s/[^\n]+\z//;
		# A row that came without the end of its statement is shown as it is, past \gset: nothing was reported.
		$worker->{out} =~ s/^\d+\n\z//m;
		my @granted = $worker->{out} =~ /^granted (\d+)$/mg;
		push @broken, "$worker->{name}: its tokens do not rise" if grep { $granted[$_] <= $granted[ $_ - 1 ] } 1 .. $#granted;
		push @broken, "$worker->{name}: a lease was lost" if $worker->{out} =~ /lost/;
		my ($last) = $worker->{out} =~ /^([a-z]+)[ 0-9]*\n\z/m
		  or die "$worker->{name} ended with: " . substr($worker->{out}, -200);
		my $state = status($node, $worker->{name}, $granted[-1]);
		push @broken, "$worker->{name}: $last, then $state" unless $state =~ $right{$last};
		push @tokens, @granted;
	}
	is_deeply(\@broken, [], "round $round: after " . @tokens . ' grants all is as the workers were told');
	cmp_ok(min(@tokens), '>', max(@seen), "round $round: its tokens are above those of the rounds before");
	my %different = map { $_ => 1 } @tokens;
	is(scalar(keys %different), scalar(@tokens), "round $round: and all different");
	push @seen, acquire($node, "after round $round", '1 h'), @tokens;
	cmp_ok($seen[ -1 - @tokens ], '>', max(@tokens), "round $round: the next token is above them");
}

done_testing();
