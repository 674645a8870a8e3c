# What fails while others are woken is kept to itself: after the commit an error would be a PANIC. Who is not woken for it, or
# by an end that the server tells nobody, has a timer. And what waiting counts: time by a clock that nobody sets, and the lease
# from its grant.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use Test::More;

my $node = new_server('faulty');
start_trace($node);
my $holder = session($node);
my $holder_pid = session_query($holder, 'SELECT pg_backend_pid()');
my $started = query($node, 'SELECT pg_postmaster_start_time()');

# An error while waking, at each end of a transaction.
my $take = q(SELECT gatepost.lease_acquire('fault', '1 h'));
my $release = q(SELECT gatepost.lease_release('fault', token) FROM gatepost.leases WHERE name = 'fault');
my @ends = (
	[ 'a single statement', [$take], $release ],
	[ 'COMMIT', [ $take, 'BEGIN', $release ], 'COMMIT' ],
	[ 'ROLLBACK', [ 'BEGIN', $take ], 'ROLLBACK' ],
	[ 'ROLLBACK TO', [ 'BEGIN', 'SAVEPOINT s', $take ], 'ROLLBACK TO s' ]);
for my $case (@ends)
{
	my ($end, $begin, $finish) = @$case;
	session_query($holder, $_) for @$begin;
	my $waiter = waiting_session($node, 'fault');
	my $before = woken($node, $holder_pid, $waiter->{pid});
	session_query($holder, q(SET gatepost.test_fault = 'waking'));
	is(session_error($holder, $finish), '', "$end: an error while waking is not the transaction's");
	# ROLLBACK has taken the setting back.
	session_query($holder, q(SET gatepost.test_fault = ''));
	is(woken($node, $holder_pid, $waiter->{pid}), $before, "$end: it wakes nobody");
	send_query($holder, 'SELECT pg_sleep(30)');
	wait_blocked($node, $holder_pid, 'PgSleep');
	query($node, "SELECT pg_cancel_backend($holder_pid)");
	is((sent_result($holder))[1], '57014', "$end: the session can be cancelled as ever");
	session_query($holder, 'ROLLBACK') if $end eq 'ROLLBACK TO';
	# The next who touches the name.
	give_back($node, 'fault');
	my $token = sent_result($waiter->{session});
	isnt($token, '', "$end: the next change wakes him");
	give_back($node, 'fault');
	$waiter->{session}->quit;
}
is(query($node, 'SELECT pg_postmaster_start_time()'), $started, 'the server has been up all the time');

# More names in one transaction than it keeps in mind, which takes no memory; the rest is for the timer.
my $wake_memory = q(SELECT total_bytes FROM pg_backend_memory_contexts WHERE name = 'gatepost wake');
my $memory = session_query($holder, $wake_memory);
like($memory, qr/^\d+$/, 'what waking needs is had beforehand');
session_query($holder, q(SELECT count(gatepost.lease_acquire('many/' || n, '1 h')) FROM generate_series(1, 600) AS n));
my $beyond = waiting_session($node, 'many/600', before => q(SET gatepost.test_timer = '300 ms'));
session_query($holder, q(SELECT count(*) FROM gatepost.leases WHERE name LIKE 'many/%' AND gatepost.lease_release(name, token)));
is(session_query($holder, $wake_memory), $memory, 'however many names a transaction gives back');
isnt(scalar(sent_result($beyond->{session})), '', 'who is not woken has a timer');
$beyond->{session}->quit;

# Ends that the server tells nobody.
for my $end ('SELECT pg_advisory_unlock_all()', 'DISCARD ALL')
{
	session_query($holder, q(SELECT gatepost.advisory_lock('untold')));
	my $waiter = waiting_session($node, 'untold', before => q(SET gatepost.test_timer = '300 ms'));
	session_query($holder, $end);
	isnt(scalar(sent_result($waiter->{session})), '', "after $end too");
	give_back($node, 'untold');
	$waiter->{session}->quit;
}

# A wait is as long as it was to be, whatever becomes of the wall clock.
acquire($node, 'clock', '1 h');
override($node, 'wallclock', 1_700_000_000_000_000);
my $timed = waiting_session($node, 'clock', wait => '200 ms');
my ($answer, $state) = sent_result($timed->{session});
is("$answer,$state", ',', 'a wait ends although the wall clock stands still');
override($node, 'wallclock', undef);
$timed->{session}->quit;

# The ttl counts from the grant, however long the wait was.
my $second = 1_000_000;
my $now = 1_000_000 * $second;
override($node, 'boottime', $now);
acquire($node, 'ttl', '1 h');
my $late = waiting_session($node, 'ttl', ttl => '5 s');
override($node, 'boottime', $now + 60 * $second);
give_back($node, 'ttl');
isnt(scalar(sent_result($late->{session})), '', 'served after a minute');
is(query($node, q(SELECT remaining FROM gatepost.leases WHERE name = 'ttl')), '00:00:05', 'with the whole of his ttl');
$late->{session}->quit;

$holder->quit;
no_lock_left($node, 'nothing is left locked');
$node->stop;
done_testing();
