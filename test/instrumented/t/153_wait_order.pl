# A queue drains in order of arrival, and each hand-over sets few latches however many wait.
#   GATEPOST_WAIT_RUNS=20    how often 50 waiters are served; make campaign has 1000
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use Test::More;

my $runs = $ENV{GATEPOST_WAIT_RUNS} || 20;
my $node = new_server('order', conf => "max_connections = 230\nstatement_timeout = '3min'\n");
# The clock of leases stands still, so that others hold back for the first however slow he is to come: an alarm that an
# earlier statement has set wakes one of them now and then.
override($node, 'boottime', 1_000_000_000);

# Stands in the queue, has the lease for a moment, and then stands at the gate until the next round.
my $script = q(
SELECT gatepost.lease_acquire('drained', '1 h', '1 h') AS token \gset
SELECT gatepost.lease_release('drained', :token);
SELECT pg_advisory_lock_shared(7), pg_advisory_unlock_shared(7);
);
my $gate = session($node);

# One round of so many waiters: the order in which they came, and in which they were served.
sub drain
{
	my ($count) = @_;
	$node->poll_query_until('postgres', "SELECT count(*) = $count FROM gatepost.waiters WHERE name = 'drained'") or die 'too few wait';
	# Who sleeps has looked once.
	$node->poll_query_until('postgres', "SELECT count(*) = $count FROM pg_stat_activity WHERE wait_event = 'Extension'") or die 'too few sleep';
	session_query($gate, 'SELECT pg_advisory_lock(7)');
	my $came = query($node, q(SELECT string_agg(pid::text, ' ' ORDER BY place) FROM gatepost.waiters WHERE name = 'drained'));
	start_trace($node);
	give_back($node, 'drained');
	$node->poll_query_until('postgres', "SELECT count(*) = $count FROM pg_stat_activity WHERE wait_event = 'advisory'") or die 'too few served';
	return ($came, join ' ', map { $_->[0] } grep { $_->[1] eq 'leaves' && $_->[2] == 1 } traced($node));
}

# Opens the gate with the lease taken again, or for good.
sub next_round
{
	my ($last) = @_;
	acquire($node, 'drained', '1 h') unless $last;
	session_query($gate, 'SELECT pg_advisory_unlock(7)');
	return;
}

acquire($node, 'drained', '1 h');
my $load = start_load($node, $script, '--client=50', "--transactions=$runs");
my $wrong = 0;
for my $run (1 .. $runs)
{
	my ($came, $served) = drain(50);
	$wrong++ if $came ne $served;
	diag("run $run: came $came, served $served") if $came ne $served;
	next_round($run == $runs);
}
$load->{run}->finish;
is($wrong, 0, "$runs times, 50 waiters are served in order of arrival");

acquire($node, 'drained', '1 h');
$load = start_load($node, $script, '--client=200', '--transactions=1');
my ($came, $served) = drain(200);
my $wakes = grep { $_->[1] eq 'wakes' } traced($node);
next_round(1);
$load->{run}->finish;
is($served, $came, '200 waiters are served in order of arrival');
cmp_ok($wakes, '<=', 2 * 200, 'with at most two latches set for each release');
cmp_ok($wakes, '>=', 200, 'and at least one');
is(query($node, 'SELECT count(*) FROM gatepost.waiters'), 0, 'nobody is left in the queue');

$gate->quit;
$node->stop;
done_testing();
