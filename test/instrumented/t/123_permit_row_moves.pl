# A permit is given back while another transaction uses it. The released row is on an earlier page than the one it
# replaces, so whoever counts meets it first; when it is committed between the two, neither is there settled. The permit
# counts all the same until its use has ended.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $node = new_server('moves');
query($node, 'CREATE EXTENSION pageinspect');

# The row is on the last page, and there is room on the first ones.
query($node, q(SELECT count(gatepost.lease_acquire('filler-' || n, '1 h')) FROM generate_series(1, 200) n));
my $token = query($node, q(SELECT gatepost.semaphore_acquire('moving', 2, '1 h')));
query($node, q(SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'filler-%'));
query($node, q(SELECT gatepost.lease_purge('0', 'filler-')));
query($node, 'VACUUM gatepost.lease_slots');

# Its page is full of versions that cannot be pruned.
my ($old, $holder, $user, $asker) = map { session($node) } 1 .. 4;
my @controllers = map { session($node) } 1 .. 2;
session_query($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
my $page = q(SELECT (ctid::text::point)[0]::int FROM gatepost.lease_slots WHERE name = 'moving' AND slot = 1);
my $before = query($node, $page);
my $room = qq(
	SELECT upper - lower - (SELECT max(lp_len) + 12 FROM heap_page_items(get_raw_page('gatepost.lease_slots', $before)))
	FROM page_header(get_raw_page('gatepost.lease_slots', $before)));
query($node, "SELECT gatepost.lease_renew('moving', $token)") while query($node, $room) > 0;
is(query($node, $page), $before, 'the page is full');

session_query($user, "BEGIN; SELECT gatepost.fence_use('moving', $token)");
session_query($holder, 'BEGIN');
is(session_query($holder, "SELECT gatepost.lease_release('moving', $token)"), 't', 'given back beside its use');
cmp_ok(session_query($holder, $page), '<', $before, 'on an earlier page');

# The call stops at each place that it comes to, at which one controller after the other keeps it.
my $close = 'SELECT pg_advisory_lock(18256, 10)';
my $open = 'SELECT pg_advisory_unlock(18256, 10)';
my @pids = map { session_query($_, 'SELECT pg_backend_pid()') } @controllers;
my $pid = session_query($asker, 'SELECT pg_backend_pid()');
session_query($asker, q(SET gatepost.test_pause = 'look_started'));
session_query($controllers[0], $close);
send_query($asker, q(SELECT gatepost.semaphore_acquire('moving', 2, '1 h', weight => 2) IS NULL));
# At the limit, at the first slot; then the count, at the released row and at the other.
for my $stop (1 .. 3)
{
	wait_blocked($node, $pid);
	send_query($controllers[1], $close);
	wait_blocked($node, $pids[1]);
	session_query($controllers[0], $open);
	sent_result($controllers[1]);
	@controllers = reverse @controllers;
	@pids = reverse @pids;
}
wait_blocked($node, $pid);
session_query($holder, 'COMMIT');
session_query($controllers[0], $open);
is(sent_result($asker), 't', 'the permit in use counts');
is(session_query($user, 'COMMIT'), '', 'until its use has ended');
end_session($_) for $old, $holder, $user, $asker, @controllers;

done_testing();
