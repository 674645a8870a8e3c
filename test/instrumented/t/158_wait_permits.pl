# Who waits for permits: several that are free at once go to as many waiters, each called by the one before, without a
# timer and without the end of a transaction in between; a try in vain wakes nobody.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use Test::More;

my $node = new_server('permits');
start_trace($node);
my $holder = session($node);
my $holder_pid = session_query($holder, 'SELECT pg_backend_pid()');
my $try = q(SELECT gatepost.semaphore_acquire('pool', 4, '1 h'));
my $release = q(SELECT count(*) FROM gatepost.lease_release_many(
	(SELECT array_agg(name) FROM gatepost.leases WHERE state = 'held'), (SELECT array_agg(token) FROM gatepost.leases WHERE state = 'held')));

sub permit_waiter
{
	my (%option) = @_;
	my $weight = $option{weight} // 1;
	my $wait = $option{wait} // '1 h';
	return waiting_session($node, 'pool', %option, call => "SELECT gatepost.semaphore_acquire('pool', 4, '1 h', '$wait', $weight)");
}

sub timers { return scalar grep { $_->[1] eq 'timed' } traced($node); }

# Four are given back in one statement. Each waiter has a transaction of his own that stays open.
session_query($holder, $try) for 1 .. 4;
my @queue = map { permit_waiter(before => 'BEGIN') } 1 .. 5;
is(session_query($holder, $release), 0, 'four are given back at once');
my @tokens = map { scalar sent_result($queue[$_]{session}) } 0 .. 3;
is(scalar(grep { $_ ne '' } @tokens), 4, 'four waiters are served while all their transactions are open');
is(join(' ', @tokens), join(' ', sort { $a <=> $b } @tokens), 'in order of arrival');
cmp_ok(woken($node, $holder_pid, $queue[0]{pid}), '>', 0, 'the release calls the first');
cmp_ok(woken($node, $queue[$_]{pid}, $queue[ $_ + 1 ]{pid}), '>', 0, 'who is served calls the next') for 0 .. 3;
is(timers(), 0, 'no timer was needed');
# The fifth was called in vain, and goes on waiting until one is given back.
session_query($queue[1]{session}, 'ROLLBACK');
isnt(scalar(sent_result($queue[4]{session})), '', 'a grant that is rolled back is the next one\'s');
session_query($queue[$_]{session}, 'COMMIT') for 0, 2, 3, 4;
is(timers(), 0, 'again without a timer');

# A try in vain wakes nobody, whoever waits.
my $waiter = permit_waiter();
start_trace($node);
is(session_query($holder, $try), '', 'a try in vain') for 1 .. 3;
is(session_query($holder, q(SELECT gatepost.semaphore_acquire('pool', 4, '1 h', weight => 4))), '', 'a heavy one');
is(scalar(grep { $_->[1] eq 'wakes' } traced($node)), 0, 'wakes nobody');
# Nor does he write: no xid, no row lock.
session_query($holder, 'BEGIN');
session_query($holder, $try);
is(session_query($holder, 'SELECT pg_current_xact_id_if_assigned() IS NULL'), 't', 'and takes no xid');
session_query($holder, 'COMMIT');

# Resized upwards: the commit calls.
start_trace($node);
is(session_query($holder, q(SELECT gatepost.semaphore_resize('pool', 5))), 't', 'one permit more');
cmp_ok(woken($node, $holder_pid, $waiter->{pid}), '>', 0, 'a resize calls the first waiter');
my (undef, $sqlstate) = sent_result($waiter->{session});
is($sqlstate, 'LG009', 'who learns that the number he names is no longer right');
$_->{session}->quit for @queue, $waiter;

# The first is called though he needs several, and those behind him sleep on.
session_query($holder, q(SELECT gatepost.lease_break('pool'), gatepost.semaphore_resize('pool', 4)));
my @held = map { session_query($holder, $try) } 1 .. 4;
start_trace($node);
my $heavy = permit_waiter(weight => 3);
my $light = permit_waiter();
session_query($holder, "SELECT gatepost.lease_release('pool', $held[0])");
wait_traced($node, $heavy->{pid}, 'sleeps', 2);
is(scalar(grep { $_->[1] eq 'leaves' } traced($node)), 0, 'one permit is too little for the first, and nobody else is called');
session_query($holder, "SELECT gatepost.lease_release('pool', $held[$_])") for 1, 2;
isnt(scalar(sent_result($heavy->{session})), '', 'three are enough');
session_query($holder, "SELECT gatepost.lease_release('pool', $held[3])");
isnt(scalar(sent_result($light->{session})), '', 'and the next is the next one\'s');
is(timers(), 0, 'without a timer');
$_->{session}->quit for $heavy, $light;

$holder->quit;
$node->stop;
done_testing();
