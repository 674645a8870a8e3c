# A transaction that is still open may have written many versions of a row: renewed it, and then given it to another
# grant. Wherever in the table they are, and in whichever order they are met, the grant is what a use of the earlier
# token waits for.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('versions');
query($node, q(CREATE TABLE guarded (id int); SELECT gatepost.fence_protect('guarded', 'moving')));

# The row is on the last page, and there is room on the first ones.
query($node, q(SELECT count(gatepost.lease_acquire('filler-' || n, '1 h')) FROM generate_series(1, 200) n));
my $token = acquire($node, 'moving', '1 h');
query($node, q(SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'filler-%'));
query($node, q(SELECT gatepost.lease_purge('0', 'filler-')));
query($node, 'VACUUM gatepost.lease_slots');

my ($taker, $stale) = map { session($node) } 1 .. 2;
my $place = q(SELECT (ctid::text::point)[0] FROM gatepost.lease_slots WHERE name = 'moving');
my $before = session_query($taker, $place);
session_query($taker, 'BEGIN');
session_query($taker, qq(SELECT bool_and(gatepost.lease_renew('moving', $token)) FROM generate_series(1, 300)));
is(session_query($taker, qq(SELECT gatepost.lease_release('moving', $token))), 't', 'given back after many renewals');
isnt(session_query($taker, q(SELECT gatepost.lease_acquire('moving', '1 h'))), '', 'and granted again');
cmp_ok(session_query($taker, $place), '<', $before, 'the row has moved to an earlier page');

my $pid = session_query($stale, 'SELECT pg_backend_pid()');
session_query($stale, 'BEGIN');
send_query($stale, qq(SELECT gatepost.fence_use('moving', $token)));
# Ends the wait for it where it does not wait.
ok( $node->poll_query_until(
		'postgres', "SELECT wait_event_type = 'Lock' OR state <> 'active' FROM pg_stat_activity WHERE pid = $pid"),
	'the earlier token is asked for');
session_query($taker, 'COMMIT');
is((sent_result($stale))[1], 'LG001', 'it is stale when the grant has been committed');
isnt(session_error($stale, 'INSERT INTO guarded VALUES (1)'), '', 'and writes nothing');
session_error($stale, 'COMMIT');
is(query($node, 'SELECT count(*) FROM guarded'), 0, 'to the protected table');
end_session($_) for $taker, $stale;

done_testing();
