# Waiting beside the rest of the server: index builds, clients that have gone, a server that restarts or dies.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;
use Time::HiRes 'usleep';

my $node = new_server('beside', conf => "restart_after_crash = on\n");
query($node, 'CREATE TABLE built (id int)');

sub waiter
{
	my ($name, $call, @before) = @_;
	my $session = session($node);
	my $pid = session_query($session, 'SELECT pg_backend_pid()');
	session_query($session, $_) for @before;
	send_query($session, $call // "SELECT gatepost.lease_acquire('$name', '1 h', '1 h')");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';
	wait_blocked($node, $pid, 'Extension');
	return { session => $session, pid => $pid };
}

# One that has ended and that nobody has waited for counts as gone: where the server's parent is dead that may be for ever.
sub gone
{
	my ($pid) = @_;
	for (1 .. 6000)
	{
		my $stat = '';
		if (open my $in, '<', "/proc/$pid/stat") { $stat = <$in> // ''; }
		return 1 if $stat !~ /^\d+ \(.*\) [^ZX]/s;
		usleep(10_000);
	}
	return 0;
}

# An index build waits for snapshots: the procedure has none, the function one.
my $token = acquire($node, 'migrate', '1 h');
my $caller = waiter('migrate', q(CALL gatepost.lease_acquire_wait('migrate', '1 h', '1 h')));
my $builder = session($node);
session_query($builder, "SET statement_timeout = '60s'");
is(session_error($builder, 'CREATE INDEX CONCURRENTLY first ON built (id)'), '', 'a procedure that waits stops no index build');
query($node, "SELECT gatepost.lease_release('migrate', $token)");
like(scalar(sent_result($caller->{session})), qr/^\d+$/, 'and gets its turn');
my $called = waiter('migrate');
session_query($builder, "SET statement_timeout = '300ms'");
is(session_error($builder, 'CREATE INDEX CONCURRENTLY second ON built (id)'), '57014', 'a function that waits does');
$caller->{session}->quit;
query($node, "SELECT pg_cancel_backend($called->{pid})");
end_session($_) for $called->{session}, $builder;

# A client that has gone is noticed while its session waits, where the server was asked to look.
acquire($node, 'dead', '1 h');
my $dead = waiter('dead', undef, "SET client_connection_check_interval = '50ms'");
my $alive = waiter('dead');
$dead->{session}{run}->kill_kill(grace => 0);
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM gatepost.waiters WHERE pid = $dead->{pid}"),
	'who waits for a client that has gone leaves the queue');
query($node, q(SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = 'dead'));
isnt(scalar(sent_result($alive->{session})), '', 'and the next is served');
$alive->{session}->quit;

# A session that dies takes all others along, and the queue; the lease stays.
my $kept = acquire($node, 'kept', '1 h');
my $killed = waiter('kept');
kill 'KILL', $killed->{pid};
ok(gone($killed->{pid}), 'a waiting session is killed');
end_session($killed->{session});
$node->poll_query_until('postgres', 'SELECT true') or die 'the server does not come back';
is(query($node, 'SELECT count(*) FROM gatepost.waiters'), 0, 'nobody waits after the restart');
is(status($node, 'kept', $kept), 'held', 'the lease is held as before');
my $after = waiter('kept');
query($node, "SELECT gatepost.lease_release('kept', $kept)");
isnt(scalar(sent_result($after->{session})), '', 'and the next is served again');
$after->{session}->quit;

# Nobody waits on when the server has died.
acquire($node, 'orphan', '1 h');
my $orphan = waiter('orphan');
$node->kill9;
ok(gone($orphan->{pid}), 'who waits ends with the server');
kill 'KILL', $orphan->{pid};
end_session($orphan->{session});

done_testing();
