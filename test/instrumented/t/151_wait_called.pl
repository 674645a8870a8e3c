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

# To others the name is free from the commit on, and so are the 10 ms, however long the transaction goes on before it.
my $lease = q(SELECT gatepost.lease_acquire('late', '1 h'%s));
my $permit = q(SELECT gatepost.semaphore_acquire('few', 1, '1 h'%s));
my %late = (
	'a lease released' => [ $lease, q(SELECT gatepost.lease_release('late', %s)) ],
	'a lease broken' => [ $lease, q(SELECT gatepost.lease_break('late', %s)) ],
	'a lease released in a savepoint' => [ $lease, q(SAVEPOINT s; SELECT gatepost.lease_release('late', %s); RELEASE s) ],
	'a permit released' => [ $permit, q(SELECT gatepost.lease_release('few', %s)) ],
);
for my $end (sort keys %late)
{
	my ($take, $free) = @{ $late{$end} };
	my $try = sprintf $take, '';
	my $held = query($node, $try);
	my $session = session($node);
	my $pid = session_query($session, 'SELECT pg_backend_pid()');
	send_query($session, sprintf $take, q(, wait => '1 h'));
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';
	wait_blocked($node, $pid, 'Extension');
	kill 'STOP', $pid;

	my $holder = session($node);
	session_query($holder, 'BEGIN; ' . sprintf $free, $held);
	session_query($holder, 'SELECT pg_sleep(0.01)');
	$now += 1000 * $millisecond;
	override($node, 'boottime', $now);
	session_query($holder, 'COMMIT');
	$now += 9 * $millisecond;
	override($node, 'boottime', $now);
	is(query($node, $try), '', "$end a second before the commit: a mere try does not overtake 9 ms after it");
	$now += 2 * $millisecond;
	override($node, 'boottime', $now);
	isnt(my $token = query($node, $try), '', 'after 11 ms it does');
	kill 'CONT', $pid;
	session_query($holder, sprintf $late{'a lease released'}[1], $token) if $take eq $lease;
	session_query($holder, sprintf $late{'a permit released'}[1], $token) if $take eq $permit;
	isnt($token = sent_result($session), '', 'and he is served next');
	query($node, sprintf $free =~ s/SAVEPOINT s; |; RELEASE s//gr, $token);
	$_->quit for $session, $holder;
}

done_testing();
