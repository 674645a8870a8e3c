# Waiting for a lease inside the server: served in order of arrival, woken by every end of the holder's transaction, and
# refused where nobody would notice a deadlock or an old snapshot.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Gatepost::Waiting qw(start_trace);
use Test::More;

my $node = new_server('waiting');
start_trace($node);

# A session that waits for the name; comes back when it stands in the queue.
sub waiter
{
	my ($name, $wait) = @_;
	my $session = session($node);
	my $pid = session_query($session, 'SELECT pg_backend_pid()');
	limit_waits($session);
	send_query($session, "SELECT gatepost.lease_acquire('$name', '1 h', '$wait')");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';
	return { session => $session, pid => $pid };
}

sub served
{
	my ($waiter) = @_;
	return scalar sent_result($waiter->{session});
}

sub give_back
{
	my ($name) = @_;
	return query($node, "SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = '$name'");
}

# In order of arrival.
acquire($node, 'order', '1 h');
my @queue = map { waiter('order', '1 h') } 1 .. 6;
is( query($node, q(SELECT string_agg(pid::text, ' ' ORDER BY place) FROM gatepost.waiters WHERE name = 'order')),
	join(' ', map { $_->{pid} } @queue),
	'the view shows the queue in order of arrival');
# Others hold back for 10 ms only: where the first is stopped for longer, who comes before him is no fault. That nobody
# does while the clock stands still is in t/153_wait_order.pl.
my @left = @queue;
my $overtaken = 0;
while (@left)
{
	my ($freed) = split /\|/, query($node,
		q(SELECT clock_timestamp(), gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = 'order'));
	my $pids = join ', ', map { $_->{pid} } @left;
	my $turn = "SELECT pid FROM pg_stat_activity WHERE pid IN ($pids) AND state <> 'active'";
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM ($turn) AS turn") or die 'nobody is woken';
	my $pid = query($node, $turn);
	my ($next) = grep { $_->{pid} == $pid } @left;
	isnt(served($next), '', 'one more is served');
	$overtaken++ if $next != $left[0]
	  && query($node, "SELECT acquired_at < '$freed'::timestamptz + interval '10 ms' FROM gatepost.leases WHERE name = 'order'") eq 't';
	@left = grep { $_ != $next } @left;
}
is($overtaken, 0, 'in order of arrival');
is(query($node, 'SELECT count(*) FROM gatepost.waiters'), 0, 'and nobody is left in the queue');
give_back('order');
$_->{session}->quit for @queue;

# Every end of what stood in the way.
my $holder = session($node);
my %ends = (
	'a rollback' => ['BEGIN', 'ROLLBACK'],
	'a rollback to a savepoint' => ['BEGIN; SAVEPOINT s', 'ROLLBACK TO s'],
	'an exception block' => [
		'BEGIN',
		q(DO $$ BEGIN PERFORM gatepost.lease_release('ends', token) FROM gatepost.leases WHERE name = 'ends'; END $$; COMMIT)
	],
	'a broken lease' => ['SELECT 1', q(SELECT gatepost.lease_break('ends'))],
);
for my $end (sort keys %ends)
{
	my ($begin, $finish) = @{ $ends{$end} };
	session_query($holder, $begin);
	session_query($holder, q(SELECT gatepost.lease_acquire('ends', '1 h')));
	my $waiter = waiter('ends', '1 h');
	session_query($holder, $finish);
	isnt(served($waiter), '', "$end wakes the first");
	session_query($holder, 'ROLLBACK') if $end =~ /savepoint/;
	give_back('ends');
	$waiter->{session}->quit;
}

# A use that is open on a released lease, and the lock of a transaction.
my $token = session_query($holder, q(SELECT gatepost.lease_acquire('used', '1 h')));
session_query($holder, "BEGIN; SELECT gatepost.fence_use('used', $token)");
give_back('used');
my $behind_use = waiter('used', '1 h');
session_query($holder, 'COMMIT');
isnt(served($behind_use), '', 'the end of a use wakes the first');
session_query($holder, q(BEGIN; SELECT gatepost.advisory_xact_lock('locked')));
my $behind_rung = waiter('locked', '1 h');
session_query($holder, 'ROLLBACK');
isnt(served($behind_rung), '', 'the end of a lock wakes the first');

# Not before the locks of the transaction are gone, however many there are.
for (1 .. 5)
{
	session_query($holder, q(BEGIN; SELECT gatepost.advisory_xact_lock('many')));
	session_query($holder, 'SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, 3000) AS n');
	my $waiter = waiter('many', '1 h');
	session_query($holder, 'COMMIT');
	isnt(served($waiter), '', 'the locks are gone when the first looks');
	give_back('many');
	$waiter->{session}->quit;
}

# A lease that lapses; a wait that is over.
acquire($node, 'lapses', '300 ms');
my $lapse = { session => session($node) };
limit_waits($lapse->{session});
isnt(session_query($lapse->{session}, q(SELECT gatepost.lease_acquire('lapses', '1 h', '1 h'))), '', 'a lapsed lease is taken by the first');
is(query($node, q(SELECT gatepost.lease_acquire('lapses', '1 h', '30 ms') IS NULL)), 't', 'a wait that is over is NULL');

# Whoever leaves passes the wake on.
for my $leave ('pg_cancel_backend', 'pg_terminate_backend')
{
	acquire($node, $leave, '1 h');
	my ($first, $second) = map { waiter($leave, '1 h') } 1 .. 2;
	query($node, "SELECT $leave($first->{pid})");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM gatepost.waiters WHERE pid = $first->{pid}");
	give_back($leave);
	isnt(served($second), '', "after $leave the next is served");
	end_session($first->{session});
	$second->{session}->quit;
}

# Who waits again in the same transaction stands in nobody's way.
my $again = acquire($node, 'again', '1 h');
my $patient = session($node);
session_query($patient, 'BEGIN');
my $patient_pid = session_query($patient, 'SELECT pg_backend_pid()');
limit_waits($patient);
send_query($patient, q(SELECT gatepost.lease_acquire('again', '1 h', '1 s')));
# On a machine that stands still meanwhile it is over before it is seen.
$node->poll_query_until(
	'postgres', "SELECT state = 'idle in transaction' AND query LIKE '%1 s%' OR EXISTS (SELECT FROM gatepost.waiters WHERE pid = $patient_pid)
	FROM pg_stat_activity WHERE pid = $patient_pid") or die 'nobody waits';
my $between = waiter('again', '1 h');
is(scalar(sent_result($patient)), '', 'a first wait is over');
send_query($patient, q(SELECT gatepost.lease_acquire('again', '1 h', '1 h')));
wait_blocked($node, $patient_pid, 'Extension');
# A renewal makes who came in between look again, and only the first then sleeps no longer than the lease.
query($node, "SELECT gatepost.lease_renew('again', $again, '2 s')");
# On a busy machine who waits again may be quicker: he asks every now and then, and others are held back for a moment only.
my $both = "FROM pg_stat_activity WHERE pid IN ($between->{pid}, $patient_pid) AND state <> 'active'";
$node->poll_query_until('postgres', "SELECT count(*) > 0 $both") or die 'nobody is served';
my @turns = ([ 'who came in between', $between->{session} ], [ 'who waits again', $patient ]);
@turns = reverse @turns if query($node, "SELECT min(pid) $both") == $patient_pid && query($node, "SELECT count(*) $both") == 1;
for my $turn (@turns)
{
	my ($who, $session) = @$turn;
	isnt(scalar(sent_result($session)), '', "$who is served when the lease lapses, or the other gives it back") or die 'he sleeps on';
	session_query($session, 'COMMIT') if $session == $patient;
	give_back('again');
}
$_->quit for $patient, $between->{session};

# What is refused takes nothing.
acquire($node, 'busy', '1 h');
my $session = session($node);
limit_waits($session);
my $wait = q(SELECT gatepost.lease_acquire('busy', '1 h', '1 h'));
my %refused = (
	q(SELECT gatepost.lease_acquire('mine', '1 h')) => '55000',
	q(SELECT gatepost.advisory_xact_lock('mine too')) => '55000',
	q(SELECT gatepost.fence_advance('mark', (SELECT token FROM gatepost.leases WHERE name = 'busy'))) => '55000',
	q(SELECT gatepost.fence_use('busy', (SELECT token FROM gatepost.leases WHERE name = 'busy'))) => '55000',
	q(SET TRANSACTION ISOLATION LEVEL REPEATABLE READ) => '25001',
	q(SET TRANSACTION ISOLATION LEVEL SERIALIZABLE) => '25001',
);
for my $first (sort keys %refused)
{
	session_query($session, 'BEGIN');
	session_query($session, $first);
	is(session_error($session, $wait), $refused{$first}, "a wait is refused after: $first");
	session_query($session, 'ROLLBACK');
}
session_query($session, q(SELECT gatepost.advisory_lock('of the session')));
is(session_error($session, $wait), '55000', 'and in a session that holds a lock');
session_query($session, q(SELECT gatepost.advisory_unlock('of the session')));
session_query($session, "SET lock_timeout = '20 ms'");
is(session_error($session, $wait), '55P03', 'lock_timeout ends a wait');
session_query($session, 'RESET lock_timeout');
for my $bad (q('-1 s'), q('1 month'), q('25 hours'), 'NULL')
{
	like(session_error($session, "SELECT gatepost.lease_acquire('busy', '1 h', $bad)"), qr/^(22023|22004)$/, "wait $bad is refused");
}

# The procedure keeps no snapshot.
my $caller = session($node);
my $pid = session_query($caller, 'SELECT pg_backend_pid()');
limit_waits($caller);
send_query($caller, q(CALL gatepost.lease_acquire_wait('busy', '1 h', '1 h')));
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';
is(query($node, "SELECT backend_xmin IS NULL AND backend_xid IS NULL FROM pg_stat_activity WHERE pid = $pid"),
	't', 'a procedure that waits holds no snapshot');
give_back('busy');
like(scalar(sent_result($caller)), qr/^\d+$/, 'and is served');
session_query($session, 'BEGIN');
is(session_error($session, q(CALL gatepost.lease_acquire_wait('busy', '1 h', '1 h'))), '2D000',
	'it is refused inside a transaction block');

$_->quit for $session, $caller, $holder, map { $_->{session} } $behind_use, $behind_rung, $lapse;
no_lock_left($node, 'nothing is left locked');
$node->stop;
done_testing();
