# Commits wait for standbys when the checkpointer has read their names, and all who wait are let go when it reads that there
# are none any more. A grant that asked for a standby is refused then, or at least not reported without a warning.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $standby = new_standby('standby', $primary);
my $checkpointer = query($primary, q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'));
my $receiver;
END { kill 'CONT', grep { defined } $checkpointer, $receiver; }

my $session = session($primary);
my $pid = session_query($session, q(LOAD 'gatepost'; SET gatepost.durability = standby; SELECT pg_backend_pid()));
my $refused_or_warned = qr/LG007|WARNING/;

sub set_names
{
	my ($names, $state) = @_;
	query($primary, "ALTER SYSTEM SET synchronous_standby_names = '$names'; SELECT pg_reload_conf()");
	$primary->poll_query_until('postgres', "SELECT sync_state = '$state' FROM pg_stat_replication") or die "not $state";
	return;
}

# What the last statement was complained about.
sub complaint
{
	my $complaint = $session->{stderr};
	$session->{stderr} = '';
	return $complaint;
}

# Session and sender have read the name, and the checkpointer has not.
$receiver = stop_receiver($standby);
kill 'STOP', $checkpointer;
set_names('standby', 'sync');
wait_session($session, 'SHOW synchronous_standby_names', 'standby');
$session->query(q(SELECT gatepost.lease_acquire('early', '1 h')));
like(complaint(), $refused_or_warned, 'named, and no commit waits yet: refused or warned of');
kill 'CONT', $receiver, $checkpointer;

# With the name read everywhere a grant waits, and needs no warning.
configure($primary, synchronous_standby_names => 'standby');
$receiver = stop_receiver($standby);
send_query($session, q(SELECT gatepost.lease_acquire('waits', '1 h')));
ok(wait_blocked($primary, $pid, 'SyncRep'), 'a grant waits');
kill 'CONT', $receiver;
$session->query('');
is(complaint() =~ s/background_psql: .*\n//gr, '', 'and is reported with no warning');

# The name is taken away during the wait.
$receiver = stop_receiver($standby);
send_query($session, q(SELECT gatepost.lease_acquire('let go', '1 h')));
ok(wait_blocked($primary, $pid, 'SyncRep'), 'a grant waits');
query($primary, q(ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf()));
$session->query('');
like(complaint(), $refused_or_warned, 'let go by the server: warned of');
is(query($primary, q(SELECT state FROM gatepost.leases WHERE name = 'let go')), 'held', 'it is granted here');

$session->quit;
done_testing();
