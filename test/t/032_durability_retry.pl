# The commit of a grant was cancelled while it waited for the standby. The same request asked again gives the same token,
# and waits for the standby as the first should have.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
query($primary, q(ALTER SYSTEM SET synchronous_standby_names = 'standby'));
query($primary, q(ALTER SYSTEM SET synchronous_commit = local));
query($primary, q(SELECT pg_reload_conf()));
$primary->poll_query_until('postgres', q(SELECT current_setting('synchronous_commit') = 'local'));
my $standby = new_standby('standby', $primary);
$primary->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'))
  or die 'no synchronous standby';

my $request = "SELECT gatepost.lease_acquire('x', '1 h', request_id => '8d9ff1f5-52c4-4f09-a1f5-3c6bb6a1a001')";
my $receiver = query($standby, q(SELECT pid FROM pg_stat_wal_receiver));
kill 'STOP', $receiver;

my $first = session($primary);
my $pid = session_query($first, 'SET gatepost.durability = standby; SELECT pg_backend_pid()');
send_query($first, $request);
ok(wait_blocked($primary, $pid, 'SyncRep'), 'the first request waits for the standby');
query($primary, "SELECT pg_cancel_backend($pid)");
my $unknown = sent_result($first);
ok($unknown > 0, 'its wait is cancelled: granted here, unknown there');

is(query($primary, $request), $unknown, 'who asks for no standby gets the same token at once');

send_query($first, $request);
ok(wait_blocked($primary, $pid, 'SyncRep'), 'the repeated request waits for the standby, too');
kill 'CONT', $receiver;
is(sent_result($first), $unknown, 'and gives the same token');

my $deadline = q(SELECT expires_at FROM gatepost.leases WHERE name = 'x');
my $expires = query($primary, $deadline);
is(query($primary, "SET gatepost.durability = standby; $request"), $unknown, 'once more, with the standby there');
is(query($primary, $deadline), $expires, 'the deadline is where it was');

query($primary, q(CREATE TABLE report (id int); SELECT gatepost.fence_protect('report', 'x')));
is( query(
		$primary, qq(
		SET gatepost.durability = standby;
		BEGIN;
		SELECT FROM gatepost.fence_use('x', $unknown);
		$request;
		INSERT INTO report VALUES (1);
		COMMIT)),
	$unknown,
	'a use of the token outlives the repeated request');

end_session($first);
done_testing();
