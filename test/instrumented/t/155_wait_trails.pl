# The ways in which a waiter was found asleep beside a free name, in a model of the waiting: each is played here with stop
# points, and ends with everybody served though no timer helps.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use Test::More;

my ($queue_left, $wait_looked, $tag_waited) = (17, 18, 19);
my $node = new_server('trails');
start_trace($node);
my $controller = session($node);
my $holder = session($node);

sub gate { return session_query($controller, "SELECT pg_advisory_lock(18256, $_[0])"); }
sub open_gate { return session_query($controller, "SELECT pg_advisory_unlock(18256, $_[0])"); }

sub is_served
{
	my ($waiter, $what) = @_;
	isnt(scalar(sent_result($waiter->{session})), '', $what);
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
		is_served($waiter, "a: served when the lease lapses after the $end of a $change in flight");
		give_back($node, 'flight');
		let_go($waiter);
	}
}
session_query($holder, q(BEGIN; SELECT gatepost.lease_acquire('flight', '2 s')));
my $behind_grant = waiting_session($node, 'flight');
session_query($holder, 'COMMIT');
is_served($behind_grant, 'a: served when a lease lapses that was granted meanwhile');
let_go($behind_grant);

# A renewal that makes the lease shorter.
my $long = acquire($node, 'shorter', '1 h');
my $behind_long = waiting_session($node, 'shorter');
is(query($node, "SELECT gatepost.lease_renew('shorter', $long, '500 ms')"), 't', 'a: a lease becomes shorter');
is_served($behind_long, 'a: served at its new deadline');
let_go($behind_long);

# b: The first is served and leaves; the next learns until when to sleep.
acquire($node, 'next', '1 h');
my @two = map { waiting_session($node, 'next', ttl => $_ == 1 ? '1 s' : '1 h') } 1, 2;
give_back($node, 'next');
is_served($two[0], 'b: the first is served');
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

# e, f: While one who is not the first is leaving, the first leaves too, and the next must not be forgotten between them.
acquire($node, 'leaving', '4 s');
my $first = waiting_session($node, 'leaving');
my $second = waiting_session($node, 'leaving', before => q(BEGIN; SET LOCAL gatepost.test_pause = 'queue_left'), wait => '1 s');
my $third = waiting_session($node, 'leaving');
gate($queue_left);
wait_traced($node, $second->{pid}, 'stops', 1);
query($node, "SELECT pg_cancel_backend($first->{pid})");
is((sent_result($first->{session}))[1], '57014', 'e, f: the first leaves');
open_gate($queue_left);
is(scalar(sent_result($second->{session})), '', 'e, f: the second leaves, and his transaction stays open');
is_served($third, 'e, f: the third is served when the lease lapses');
give_back($node, 'leaving');
let_go($first, $second, $third);

# g: The name becomes free between a look and the sleep.
acquire($node, 'between', '1 h');
gate($wait_looked);
my $looked = session($node);
my $looked_pid = session_query($looked, q(SET gatepost.test_pause = 'wait_looked'; SELECT pg_backend_pid()));
session_query($looked, "SET statement_timeout = '7s'");
send_query($looked, q(SELECT gatepost.lease_acquire('between', '1 h', '1 h')));
wait_traced($node, $looked_pid, 'stops', 1);
give_back($node, 'between');
open_gate($wait_looked);
isnt(scalar(sent_result($looked)), '', 'g: what happens between the look and the sleep ends the sleep');

$_->quit for $looked, $controller, $holder;
is(our_locks($node), 0, 'nothing is left locked');
$node->stop;
done_testing();
