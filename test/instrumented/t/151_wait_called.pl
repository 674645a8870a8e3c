# A name that has just become free is the first waiter's for 10 ms: nobody who merely tries overtakes him.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $node = new_server('called');
my $millisecond = 1000;
my $now = 1_000_000 * $millisecond;
override($node, 'boottime', $now);

my %ends = (
	'released' => q(SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = 'called'),
	'broken' => q(SELECT gatepost.lease_break('called')),
);
for my $end (sort keys %ends)
{
	acquire($node, 'called', '1 h');
	my $session = session($node);
	my $pid = session_query($session, 'SELECT pg_backend_pid()');
	send_query($session, q(SELECT gatepost.lease_acquire('called', '1 h', '1 h')));
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';

	# Asleep, he keeps no mutex. He is woken, and does not get to run.
	wait_blocked($node, $pid, 'Extension');
	kill 'STOP', $pid;
	query($node, $ends{$end});
	is(acquire($node, 'called', '1 h'), '', "$end: a mere try does not overtake the first waiter");
	$now += 9 * $millisecond;
	override($node, 'boottime', $now);
	is(acquire($node, 'called', '1 h'), '', 'not after 9 ms either');
	$now += 2 * $millisecond;
	override($node, 'boottime', $now);
	isnt(my $token = acquire($node, 'called', '1 h'), '', 'after 11 ms it does');
	kill 'CONT', $pid;
	query($node, "SELECT gatepost.lease_release('called', $token)");
	isnt(scalar(sent_result($session)), '', 'and he is served next');
	query($node, $ends{released});
	$session->quit;
}

done_testing();
