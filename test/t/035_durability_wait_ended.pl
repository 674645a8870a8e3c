# The wait of a commit for a standby ends otherwise than by the standby: cancelled, terminated, with the client, with the
# server. The grant is there; the caller sees a warning or loses the connection, and asks again with the same request.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $standby = new_standby('standby', $primary);
configure($primary, synchronous_commit => 'local', synchronous_standby_names => 'standby');
$primary->poll_query_until('postgres', q(SELECT sync_state = 'sync' FROM pg_stat_replication)) or die 'no synchronous standby';
my $receiver;
END { kill 'CONT', $receiver if defined $receiver; }

my %request = (
	cancelled => '00000000-0000-4000-8000-000000000001',
	terminated => '00000000-0000-4000-8000-000000000002',
	block => '00000000-0000-4000-8000-000000000003',
	crashed => '00000000-0000-4000-8000-000000000004');
sub request { return "SELECT gatepost.lease_acquire('$_[0]', '1 h', request_id => '$request{$_[0]}')"; }

# A session whose commit waits.
sub waiting_session
{
	my ($sql) = @_;
	my $session = session($primary);
	my $pid = session_query($session, 'SET gatepost.durability = standby; SELECT pg_backend_pid()');
	send_query($session, $sql);
	ok(wait_blocked($primary, $pid, 'SyncRep'), 'a commit waits');
	return ($session, $pid);
}

# The same request again, with the standby back: the same token, and known to be on the standby.
sub asked_again
{
	my ($name, $token) = @_;
	my $again = query($primary, 'SET gatepost.durability = standby; ' . request($name));
	is($again, $token, "$name: asked again the token is the same") if $token ne '';
	$primary->wait_for_catchup($standby);
	like(status($standby, $name, $again), qr/held/, "$name: and the standby has it");
	return;
}
$receiver = stop_receiver($standby);

# Cancelled: a warning, and the answer of the statement all the same.
my ($session, $pid) = waiting_session(request('cancelled'));
query($primary, "SELECT pg_cancel_backend($pid)");
my $token = $session->query('');
like($session->{stderr}, qr/WARNING:\s+01000/, 'cancelled: a warning, 01000');
unlike($session->{stderr}, qr/ERROR|FATAL/, 'cancelled: and no error');
ok($token > 0, 'cancelled: the token is returned');
is(status($primary, 'cancelled', $token), 'held', 'cancelled: the grant is there');
is(status($standby, 'cancelled', $token), 'unknown', 'cancelled: the standby does not have it');
$session->{stderr} = '';

# In a block the warning is COMMIT's.
session_query($session, 'BEGIN');
my $block = session_query($session, request('block'));
send_query($session, 'COMMIT');
ok(wait_blocked($primary, $pid, 'SyncRep'), 'block: COMMIT waits');
query($primary, "SELECT pg_cancel_backend($pid)");
$session->query('');
like($session->{stderr}, qr/WARNING:\s+01000/, 'block: the warning comes with COMMIT');
is(status($primary, 'block', $block), 'held', 'block: the grant is there');
end_session($session);

# Terminated: the connection is lost, the answer with it.
($session, $pid) = waiting_session(request('terminated'));
query($primary, "SELECT pg_terminate_backend($pid)");
$primary->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die 'still there';
$session->{run}->finish;
like($session->{stderr}, qr/WARNING:\s+57P01.*(?:FATAL:\s+57P01|connection)/s,
	'terminated: a warning, 57P01, and no connection any more');
is($session->{stdout} =~ s/\s*sent\s*//r, '', 'terminated: no answer');
is(query($primary, q(SELECT state FROM gatepost.leases WHERE name = 'terminated')), 'held',
	'terminated: the grant is there');
no_lock_left($primary, 'terminated: no lock is left');

# The server crashes.
($session) = waiting_session(request('crashed'));
$primary->stop('immediate');
end_session($session);
unlike($session->{stdout}, qr/^\d+$/m, 'crashed: no answer');
start_server($primary);
is(query($primary, q(SELECT state FROM gatepost.leases WHERE name = 'crashed')), 'held', 'crashed: the grant is there');

kill 'CONT', $receiver;
$primary->poll_query_until('postgres', q(SELECT sync_state = 'sync' FROM pg_stat_replication)) or die 'no synchronous standby';
asked_again('cancelled', $token);
asked_again('block', $block);
asked_again('terminated', '');
asked_again('crashed', '');
is(query($primary, 'SELECT count(DISTINCT token) FROM gatepost.leases'), 4, 'four names, four tokens');

done_testing();
