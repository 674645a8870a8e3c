# The commit of a grant was cancelled while it waited for the standby. The same request asked again gives the same answer,
# and waits for the standby as the first should have.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
configure($primary, synchronous_commit => 'local', synchronous_standby_names => 'standby');
my $standby = new_standby('standby', $primary);
$primary->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'))
  or die 'no synchronous standby';

my $id = q(request_id => '8d9ff1f5-52c4-4f09-a1f5-3c6bb6a1a001');
my %request = (
	'x' => "SELECT gatepost.lease_acquire('x', '1 h', $id)",
	'permits' => "SELECT gatepost.semaphore_acquire('permits', 2, '1 h', $id)",
	'all-%' => "SELECT gatepost.lease_acquire_all('{all-1,all-2}', '1 h', $id)");
my $receiver;
END { kill 'CONT', $receiver if defined $receiver; }

my $first = session($primary);
my $pid = session_query($first, 'SET gatepost.durability = standby; SELECT pg_backend_pid()');
my %told;
for my $name (sort keys %request)
{
	my $request = $request{$name};
	$receiver = stop_receiver($standby);
	send_query($first, $request);
	ok(wait_blocked($primary, $pid, 'SyncRep'), "$name: the first request waits for the standby");
	query($primary, "SELECT pg_cancel_backend($pid)");
	my $unknown = $told{$name} = sent_result($first);
	like($unknown, qr/^(\d+|\{\d+,\d+\})$/, "$name: its wait is cancelled: granted here, unknown there");

	is(query($primary, $request), $unknown, "$name: who asks for no standby gets the same at once");

	send_query($first, $request);
	ok(wait_blocked($primary, $pid, 'SyncRep'), "$name: the repeated request waits for the standby, too");
	kill 'CONT', $receiver;
	is(sent_result($first), $unknown, "$name: and gives the same");

	my $deadline = "SELECT count(*), min(expires_at), max(expires_at) FROM gatepost.leases WHERE name LIKE '$name'";
	my $expires = query($primary, $deadline);
	is(query($primary, "SET gatepost.durability = standby; $request"), $unknown, "$name: once more, with the standby there");
	is(query($primary, $deadline), $expires, "$name: the deadline is where it was");
}

query($primary, q(CREATE TABLE report (id int); SELECT gatepost.fence_protect('report', 'x')));
is( query(
		$primary, qq(
		SET gatepost.durability = standby;
		BEGIN;
		SELECT FROM gatepost.fence_use('x', $told{x});
		$request{x};
		INSERT INTO report VALUES (1);
		COMMIT)),
	$told{x},
	'a use of the token outlives the repeated request');

end_session($first);
done_testing();
