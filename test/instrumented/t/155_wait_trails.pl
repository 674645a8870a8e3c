# The ways in which a waiter was found asleep beside a free name, in a model of the waiting: each is played here with stop
# points, and ends with everybody served though no timer helps. Leases lapse when the test says so.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use Test::More;

my ($wait_ended, $queue_left, $wait_looked, $tag_waited, $queue_joined) = (13, 17, 18, 19, 23);
my $node = new_server('trails');
start_trace($node);
stop_clock($node);
my $controller = session($node);
my $holder = session($node);

sub gate { return session_query($controller, "SELECT pg_advisory_lock(18256, $_[0])"); }
sub open_gate { return session_query($controller, "SELECT pg_advisory_unlock(18256, $_[0])"); }

sub is_served
{
	my ($waiter, $what) = @_;
	isnt(scalar(sent_result($waiter->{session})), '', $what) or die 'he sleeps on';
	return;
}

sub let_go
{
	session_query($_->{session}, 'ROLLBACK') for @_;
	$_->{session}->quit for @_;
	return;
}

# a: The first looks while a grant, or a change of the lease, is in flight, and does not know until when to sleep.
for my $change ('lease_renew', 'lease_release')
{
	for my $end ('COMMIT', 'ROLLBACK')
	{
		next if "$change $end" eq 'lease_release COMMIT';
		my $token = acquire($node, 'flight', '2 s');
		session_query($holder, "BEGIN; SELECT gatepost.$change('flight', $token)");
		my $waiter = waiting_session($node, 'flight');
		session_query($holder, $end);
		later($node, 2);
		is_served($waiter, "a: served when the lease lapses after the $end of a $change in flight");
		give_back($node, 'flight');
		let_go($waiter);
	}
}
session_query($holder, q(BEGIN; SELECT gatepost.lease_acquire('flight', '2 s')));
my $behind_grant = waiting_session($node, 'flight');
session_query($holder, 'COMMIT');
later($node, 2);
is_served($behind_grant, 'a: served when a lease lapses that was granted meanwhile');
let_go($behind_grant);

# A renewal that makes the lease shorter.
my $long = acquire($node, 'shorter', '1 h');
my $behind_long = waiting_session($node, 'shorter');
is(query($node, "SELECT gatepost.lease_renew('shorter', $long, '500 ms')"), 't', 'a: a lease becomes shorter');
later($node, 1);
is_served($behind_long, 'a: served at its new deadline');
let_go($behind_long);

# b: The first is served and leaves; the next learns until when to sleep.
acquire($node, 'next', '1 h');
my @two = map { waiting_session($node, 'next', ttl => $_ == 1 ? '1 s' : '1 h') } 1, 2;
give_back($node, 'next');
is_served($two[0], 'b: the first is served');
later($node, 1);
is_served($two[1], 'b: and the next when that lease lapses');
let_go(@two);

# c: fence_use waits for the lock of a transaction that has released the lease, gets the name's tag, finds that the lease has
# gone, and lets go of it; a waiter has found the tag taken meanwhile.
my $token = acquire($node, 'tag', '1 h');
session_query($holder, "BEGIN; SELECT gatepost.lease_release('tag', $token); SELECT gatepost.advisory_xact_lock('tag')");
my $user = session($node);
my $user_pid = session_query($user, q(SET gatepost.test_pause = 'tag_waited'; SELECT pg_backend_pid()));
gate($tag_waited);
send_query($user, "SELECT gatepost.fence_use('tag', $token)");
wait_blocked($node, $user_pid);
my $behind_tag = waiting_session($node, 'tag');
session_query($holder, 'COMMIT');
wait_traced($node, $user_pid, 'stops', 1);
wait_traced($node, $behind_tag->{pid}, 'sleeps', 2);
open_gate($tag_waited);
# Or granted anew, where the waiter is quicker.
like((sent_result($user))[1], qr/^LG00[12]$/, 'c: the use finds the lease released');
is_served($behind_tag, 'c: and wakes who has found its tag in the way');
let_go($behind_tag);
$user->quit;

# c: The same, and the use is cancelled while it has the tag.
$token = acquire($node, 'dies', '1 h');
session_query($holder, "BEGIN; SELECT gatepost.lease_release('dies', $token); SELECT gatepost.advisory_xact_lock('dies')");
$user = session($node);
$user_pid = session_query($user, q(SET gatepost.test_pause = 'tag_waited'; SELECT pg_backend_pid()));
gate($tag_waited);
send_query($user, "SELECT gatepost.fence_use('dies', $token)");
wait_blocked($node, $user_pid);
my $behind_use = waiting_session($node, 'dies');
session_query($holder, 'COMMIT');
wait_traced($node, $user_pid, 'stops', 1);
wait_traced($node, $behind_use->{pid}, 'sleeps', 2);
query($node, "SELECT pg_cancel_backend($user_pid)");
is((sent_result($user))[1], '57014', 'c: the use is cancelled');
is_served($behind_use, 'c: and wakes who has found its tag in the way');
open_gate($tag_waited);
give_back($node, 'dies');
let_go($behind_use);
$user->quit;

# c: A lock waits for a use of the lapsed lease, gets the tag, and fails before it is the lock's.
my $fails = acquire($node, 'fails', '1 ms');
later($node, 1);
session_query($holder, "BEGIN; SELECT gatepost.fence_use('fails', $fails)");
my $locker = session($node);
my $locker_pid = session_query($locker,
	q(SET gatepost.test_pause = 'wait_ended'; SET gatepost.test_fault = 'rung_taken'; SELECT pg_backend_pid()));
gate($wait_ended);
send_query($locker, q(SELECT gatepost.advisory_xact_lock('fails')));
wait_blocked($node, $locker_pid);
my $behind_lock = waiting_session($node, 'fails');
session_query($holder, 'COMMIT');
wait_traced($node, $locker_pid, 'stops', 1);
wait_traced($node, $behind_lock->{pid}, 'sleeps', 2);
open_gate($wait_ended);
is((sent_result($locker))[1], 'XX000', 'c: the lock fails');
is_served($behind_lock, 'c: and wakes who has found its tag in the way');
let_go($behind_lock);
$locker->quit;

# e, f: While one who is not the first is leaving, the first leaves too, and the next must not be forgotten between them.
acquire($node, 'leaving', '4 s');
my $first = waiting_session($node, 'leaving');
gate($_) for $wait_looked, $queue_left;
my $second = waiting_session(
	$node, 'leaving', before => q(BEGIN; SET LOCAL gatepost.test_pause = 'wait_looked,queue_left'), wait => '1 ms', until => 'stops');
my $third = waiting_session($node, 'leaving');
open_gate($wait_looked);
wait_traced($node, $second->{pid}, 'stops', 2);
query($node, "SELECT pg_cancel_backend($first->{pid})");
is((sent_result($first->{session}))[1], '57014', 'e, f: the first leaves');
open_gate($queue_left);
is(scalar(sent_result($second->{session})), '', 'e, f: the second leaves, and his transaction stays open');
later($node, 4);
is_served($third, 'e, f: the third is served when the lease lapses');
give_back($node, 'leaving');
let_go($first, $second, $third);

# g: The name becomes free between a look and the sleep.
acquire($node, 'between', '1 h');
gate($wait_looked);
my $looked = session($node);
my $looked_pid = session_query($looked, q(SET gatepost.test_pause = 'wait_looked'; SELECT pg_backend_pid()));
limit_waits($looked);
send_query($looked, q(SELECT gatepost.lease_acquire('between', '1 h', '1 h')));
wait_traced($node, $looked_pid, 'stops', 1);
give_back($node, 'between');
open_gate($wait_looked);
isnt(scalar(sent_result($looked)), '', 'g: what happens between the look and the sleep ends the sleep');

# Not in the model: two join at once. One of them is the first, and awake when the lease lapses.
acquire($node, 'at once', '3 s');
gate($queue_joined);
my @at_once = map { session($node) } 1, 2;
my @pids = map { session_query($_, 'SELECT pg_backend_pid()') } @at_once;
limit_waits($_) for @at_once;
session_query($at_once[0], q(SET gatepost.test_pause = 'queue_joined'));
send_query($at_once[0], q(SELECT gatepost.lease_acquire('at once', '1 h', '1 h')));
wait_traced($node, $pids[0], 'stops', 1);
send_query($at_once[1], q(SELECT gatepost.lease_acquire('at once', '1 h', '1 h')));
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $pids[1]
	AND (wait_event_type = 'Lock' OR wait_event = 'Extension')") or die 'the second does not come';
open_gate($queue_joined);
later($node, 3);
isnt(scalar(sent_result($at_once[0])), '', 'the first of two who join at once is served when the lease lapses');
give_back($node, 'at once');
isnt(scalar(sent_result($at_once[1])), '', 'and then the second');

$_->quit for @at_once, $looked, $controller, $holder;
no_lock_left($node, 'nothing is left locked');
$node->stop;
done_testing();
