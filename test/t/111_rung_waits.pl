# Waiting for a live lease: nothing is held or queued for meanwhile, and the wait ends with the lease, its time, a cancel,
# the session's end or the user's lock_timeout, whichever is first.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('waits');
my $session = session($node);
my $pid = session_query($session, 'SELECT pg_backend_pid()');
my $tags = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = $pid";
my @forms = (
	[ q(advisory_xact_lock('x')), '' ],
	[ q(advisory_xact_lock('x', true)), '' ],
	[ q(advisory_lock('x')), '' ],
	[ q(try_advisory_xact_lock('x', '1 h')), 't' ],
	[ q(try_advisory_lock('x', '1 h', true)), 't' ]);

# One lease is renewed past its first deadline while somebody waits for it, and that deadline passes beside all that follows.
my $asked = monotonic();
my $first_ttl = 10;
my $renewed = acquire($node, 'renewed', "$first_ttl s");
my $patient = session($node);
my $patient_pid = session_query($patient, 'SELECT pg_backend_pid()');
send_query($patient, q(SELECT gatepost.try_advisory_lock('renewed', '1 h')));
wait_blocked($node, $patient_pid, 'Extension');
is(query($node, "SELECT gatepost.lease_renew('renewed', $renewed, '1 h')"), 't', 'renewed, though somebody waits');

# Waits until the session is in its wait, with its place in the queue. At a look it takes the mutex for a moment.
sub waits
{
	return $node->poll_query_until('postgres',
		"SELECT wait_event = 'Extension' AND NOT EXISTS ($tags AND objsubid <> 18259 HAVING count(*) > 0) FROM pg_stat_activity WHERE pid = $pid");
}

# Each ends the lease for whoever waits.
my %ends = (
	release => q(gatepost.lease_release('x', TOKEN)),
	'lease_break' => q(gatepost.lease_break('x')),
	'a shorter renewal' => q(gatepost.lease_renew('x', TOKEN, '10 ms')));
for my $form (@forms)
{
	my ($call, $answer) = @$form;
	for my $what (sort keys %ends)
	{
		my $token = acquire($node, 'x', '1 h');
		send_query($session, "SELECT gatepost.$call");
		ok(waits(), "$call waits and holds nothing");
		is(query($node, "SELECT gatepost.lease_renew('x', $token)"), 't', "$call: the holder renews meanwhile");
		query($node, 'SELECT ' . $ends{$what} =~ s/TOKEN/$token/r);
		is(sent_result($session), $answer, "$call: granted after $what");
		session_query($session, 'SELECT pg_advisory_unlock_all()');
	}
}

my $token = acquire($node, 'x', '1 h');
for my $form (@forms)
{
	my ($call) = @$form;
	send_query($session, "SELECT gatepost.$call");
	ok(waits(), "$call waits");
	query($node, "SELECT pg_cancel_backend($pid)");
	is((sent_result($session))[1], '57014', "$call: cancelled");
	is(query($node, $tags), 0, "$call: nothing is left");
	session_query($session, "SET lock_timeout = '30 ms'; SET statement_timeout = '20 s'");
	is(session_error($session, "SELECT gatepost.$call"), '55P03', "$call: ended by lock_timeout");
	session_query($session, 'RESET lock_timeout; RESET statement_timeout');
	is(query($node, $tags), 0, "$call: nothing is left");
}

# The wait given with the call, shorter than any other limit and longer than none: never early, and false.
session_query($session, "SET lock_timeout = '1 h'");
for my $wait (0, 1, 40, 250)
{
	for my $call ('try_advisory_xact_lock', 'try_advisory_lock')
	{
		my $before = monotonic();
		is(session_query($session, "SELECT gatepost.$call('x', '$wait ms')"), 'f', "$call, $wait ms: false");
		cmp_ok(monotonic() - $before, '>=', $wait / 1000, "$call, $wait ms: not early");
	}
}
# Behind another lock, too.
my $other = session($node);
session_query($other, q(SELECT gatepost.advisory_lock('y')));
for my $wait (1, 40, 250)
{
	my $before = monotonic();
	is(session_query($session, "SELECT gatepost.try_advisory_lock('y', '$wait ms')"), 'f', "behind a lock, $wait ms: false");
	cmp_ok(monotonic() - $before, '>=', $wait / 1000, "behind a lock, $wait ms: not early");
}
is(session_query($session, 'SHOW lock_timeout'), '1h', 'lock_timeout is as it was');
is(query($node, $tags), 0, 'nothing is left');

# Who waited for a lock and finds a lease when the lock is let go has no lock while he waits on.
my $climber = session($node);
session_query($climber, q(BEGIN; SELECT gatepost.advisory_xact_lock('climb')));
send_query($session, q(SELECT gatepost.advisory_lock('climb')));
ok(wait_blocked($node, $pid), 'waits for the lock');
my $climbed = session_query($climber, q(SELECT gatepost.lease_acquire('climb', '1 h')));
session_query($climber, 'COMMIT');
ok(waits(), 'then for the lease, and holds nothing');
is(status($node, 'climb', $climbed), 'held', 'which is held');
is(session_query($climber, "SELECT gatepost.lease_release('climb', $climbed)"), 't', 'and given back');
is(sent_result($session), '', 'then it is granted');
session_query($session, 'SELECT pg_advisory_unlock_all()');
$climber->quit;

# A lease that is renewed is waited for past its first deadline.
wait_monotonic($asked + $first_ttl + 0.5);
is(status($node, 'renewed', $renewed), 'held', 'past its first deadline it is held');
wait_blocked($node, $patient_pid, 'Extension');
is(query($node, "SELECT gatepost.lease_renew('renewed', $renewed, '300 ms')"), 't', 'and renewed again');
is(sent_result($patient), 't', 'and granted when it has lapsed');
end_session($patient);

# The session ends.
$token = acquire($node, 'z', '1 h');
send_query($session, q(SELECT gatepost.advisory_lock('z')));
ok(waits(), 'waits');
is(query($node, "SELECT pg_terminate_backend($pid, 60000)"), 't', 'terminated in its wait');
end_session($session);
end_session($other);
$node->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'));
no_lock_left($node, 'nothing is left');
is(status($node, 'z', $token), 'held', 'the lease is as it was');

done_testing();
