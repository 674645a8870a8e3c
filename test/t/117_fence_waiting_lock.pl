# A lock that is waited for does not starve the holder: while the lease is live it queues nowhere, so that another use of
# the token is good at once. It is granted when the lease has gone and the uses have ended.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('waiting');
my ($holder, $other, $waiter) = map { session($node) } 1 .. 3;
my $pid = session_query($waiter, 'SELECT pg_backend_pid()');
my $lock_waits = "SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted";

for my $call ("advisory_xact_lock('x')", "advisory_xact_lock('x', true)", "advisory_lock('x')", "try_advisory_xact_lock('x', '1 h')")
{
	my $token = acquire($node, 'x', '1 h');
	my $use = "SELECT gatepost.fence_use('x', $token)";
	session_query($holder, "BEGIN; $use");
	send_query($waiter, "SELECT gatepost.$call");
	ok(wait_blocked($node, $pid, 'Extension'), "$call: waits");
	is(query($node, $lock_waits), 0, "$call: queues for nothing");
	# It looks at the name now and then.
	my $until = monotonic() + 0.3;
	my ($uses, $late) = (0, 0);
	while ($uses < 6 || monotonic() < $until)
	{
		$uses++;
		$late++ if session_error($other, "BEGIN; SET LOCAL lock_timeout = '20 s'; $use; COMMIT") ne '';
	}
	is($late, 0, "$call: the other uses go on");
	is(query($node, "SELECT gatepost.lease_release('x', $token)"), 't', "$call: released");
	# Now it may queue, for the use that is still open.
	ok($node->poll_query_until('postgres', "SELECT ($lock_waits) = 1"), "$call: waits for the use");
	session_query($holder, 'COMMIT');
	is((sent_result($waiter))[1], '', "$call: granted");
	is(query_error($node, $use), 'LG002', "$call: the token is of no use any more");
	session_query($waiter, 'SELECT pg_advisory_unlock_all()');
}

# Lapsed, the use still open: the lock queues for its end, gives up, and has superseded nobody.
my $token = acquire($node, 'x', '1 h');
my $use = "SELECT gatepost.fence_use('x', $token)";
session_query($holder, "BEGIN; $use");
is(query($node, "SELECT gatepost.lease_renew('x', $token, '1 microsecond')"), 't', 'lapses');
is(query($node, "SELECT gatepost.try_advisory_xact_lock('x', '20 ms')"), 'f', 'a wait that ends without the lock');
is(status($node, 'x', $token), 'lapsed', 'supersedes nobody');
session_query($other, "BEGIN; SET LOCAL lock_timeout = '20 s'; $use; COMMIT");
session_query($holder, 'COMMIT');
end_session($_) for $holder, $other, $waiter;

done_testing();
