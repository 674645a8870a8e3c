# Who waits for a permit sleeps until what stands in the way has ended, and is woken then; nothing is asked for again and
# again meanwhile.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use Test::More;

my $node = new_server('permit');
start_trace($node);
my $other = session($node);
my $other_pid = session_query($other, 'SELECT pg_backend_pid()');

# He slept once, was woken by the other session, and served.
sub sleeps_until
{
	my ($name, $end, $what) = @_;
	my $waiter = waiting_session($node, $name, call => "SELECT gatepost.semaphore_acquire('$name', 1, '1 h', '1 h')");
	my ($nap) = map { $_->[2] } grep { $_->[0] == $waiter->{pid} && $_->[1] eq 'sleeps' } traced($node);
	cmp_ok($nap, '>', 1_000_000, "no look is soon to follow beside $what");
	session_query($other, $end);
	isnt(scalar(sent_result($waiter->{session})), '', '.. at whose end the permit is granted');
	cmp_ok(woken($node, $other_pid, $waiter->{pid}), '>', 0, '.. by a wake');
	$waiter->{session}->quit;
	return;
}

query($node, q(SELECT gatepost.lease_release('rung', gatepost.semaphore_acquire('rung', 1, '1 h'))));
session_query($other, q(BEGIN; SELECT gatepost.advisory_xact_lock('rung')));
sleeps_until('rung', 'COMMIT', 'an advisory lock');

query($node, q(SELECT gatepost.lease_release('session rung', gatepost.semaphore_acquire('session rung', 1, '1 h'))));
session_query($other, q(SELECT gatepost.advisory_lock('session rung')));
sleeps_until('session rung', q(SELECT gatepost.advisory_unlock('session rung')), q(a session's advisory lock));

my $token = query($node, q(SELECT gatepost.semaphore_acquire('used', 1, '1 h')));
session_query($other, qq(BEGIN; SELECT gatepost.fence_use('used', $token)));
query($node, qq(SELECT gatepost.lease_release('used', $token)));
sleeps_until('used', 'COMMIT', 'a use of what has been given back');

$token = query($node, q(SELECT gatepost.semaphore_acquire('given back', 1, '1 h')));
session_query($other, qq(BEGIN; SELECT gatepost.lease_release('given back', $token)));
sleeps_until('given back', 'COMMIT', 'a release in flight');

$other->quit;
done_testing();
