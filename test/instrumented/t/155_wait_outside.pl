# Waiters outside the server: one order with those inside, told by NOTIFY when they are the first and a release or break
# frees the name, and by nothing else. The clock of leases stands still unless it is moved: how long others hold back does
# not depend on how fast the test is. A notification that is awaited comes, or the test ends by its time-out; that none
# comes is seen by a later one of another session that does.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $node = new_server('outside', conf => "statement_timeout = '60s'\nmax_connections = 60");
my $now = 1_000_000_000;

# Moves the clock by that many milliseconds.
sub later
{
	$now += 1000 * $_[0];
	override($node, 'boottime', $now);
	return;
}
later(0);

sub id { return sprintf '6f1c3d3e-0000-4000-8000-%012d', $_[0]; }

sub enqueue { return "SELECT gatepost.lease_queue('$_[0]', '" . id($_[1]) . "', '1 h', '5 min', 'outside $_[1]')"; }
sub unqueue { return "SELECT gatepost.lease_unqueue('$_[0]', '" . id($_[1]) . "')"; }

# Takes or prolongs a place. Result: the channel.
sub outside
{
	my ($name, $number) = @_;
	return query($node, enqueue($name, $number));
}

sub ask
{
	my ($name, $number) = @_;
	return query($node, "SELECT gatepost.lease_acquire('$name', '1 h', request_id => '" . id($number) . "')");
}

# A session that waits inside for the name; comes back when it stands in the queue.
sub inside
{
	my ($name) = @_;
	my $session = session($node);
	my $pid = session_query($session, 'SELECT pg_backend_pid()');
	send_query($session, "SELECT gatepost.lease_acquire('$name', '1 h', '1 h')");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';
	return { session => $session, pid => $pid };
}

sub give_back
{
	my ($name) = @_;
	return query($node, "SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = '$name'");
}

sub queue_of
{
	my ($name) = @_;
	return query($node, qq(SELECT string_agg(coalesce(pid::text, application_name), ', ' ORDER BY place) FROM gatepost.waiters WHERE name = '$name'));
}

my $listener = session($node);

# How often the listener was told on the channel since the last time.
sub told
{
	my ($channel) = @_;
	query($node, 'NOTIFY marker');
	my $heard = '';
	for (1 .. 6000)
	{
		$heard .= session_query($listener, 'SELECT pg_sleep(0.01)');
		last if $heard =~ /"marker"/;
	}
	die 'no notification' if $heard !~ /"marker"/;
	return scalar(() = $heard =~ /"$channel"/g);
}
session_query($listener, 'LISTEN marker');

# Fifty, inside and outside in turn: served in order of arrival.
acquire($node, 'order', '1 h');
my (@queue, @outside, %inside);
my $channel;
for my $number (1 .. 50)
{
	if ($number % 5 < 2)
	{
		push @queue, my $waiter = inside('order');
		$inside{ $waiter->{pid} } = $waiter;
		next;
	}
	$channel = outside('order', $number);
	push @queue, { number => $number };
}
session_query($listener, qq(LISTEN "$channel"));
outside('order', 4);
is(queue_of('order'), join(', ', map { $_->{pid} // "outside $_->{number}" } @queue), 'the view shows one order of arrival');
my $wrong = 0;
my $unasked = 0;
my @tokens;
for my $next (@queue)
{
	give_back('order');
	my $notified = told($channel);
	if (defined $next->{pid})
	{
		push @tokens, scalar sent_result($next->{session});
		$unasked += $notified;
		next;
	}
	$wrong++ if $notified != 1;
	push @tokens, ask('order', $next->{number});
}
is(scalar(grep { /^\d+$/ } @tokens), 50, 'everybody was served');
is(join(' ', @tokens), join(' ', sort { $a <=> $b } @tokens), 'in order of arrival');
is($wrong, 0, 'who was first outside was told, each time once');
is($unasked, 0, 'and nobody while the first was inside');
give_back('order');
is(told($channel), 0, 'nor when nobody waits');
$_->{session}->quit for values %inside;

# Every way in which a holder frees the name by itself; a rollback of it tells nobody.
my $holder = session($node);
my $release = q(SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = 'ends');
my %ends = (
	'a release' => [ $release, 1 ],
	'a release in a block' => [ "BEGIN; $release; COMMIT", 1 ],
	'a release in a savepoint' => [ "BEGIN; SAVEPOINT s; $release; RELEASE s; COMMIT", 1 ],
	'a break' => [ q(SELECT gatepost.lease_break('ends')), 1 ],
	'a rollback of a release' => [ "BEGIN; $release; ROLLBACK", 0 ],
	'a savepoint of it' => [ "BEGIN; SAVEPOINT s; $release; ROLLBACK TO s; COMMIT", 0 ],
	'a renewal' => [ q(SELECT gatepost.lease_renew(name, token) FROM gatepost.leases WHERE name = 'ends'), 0 ],
	'a refused try' => [ q(SELECT gatepost.lease_acquire('ends', '1 h')), 0 ],
);
$channel = outside('ends', 1);
session_query($listener, qq(LISTEN "$channel"));
for my $end (sort keys %ends)
{
	query($node, q(SELECT gatepost.lease_break('ends')));
	later(51);
	acquire($node, 'ends', '1 h');
	told($channel);
	session_query($holder, $ends{$end}[0]);
	is(told($channel), $ends{$end}[1], "$end: " . ($ends{$end}[1] ? 'told once' : 'not told'));
}

# Freed by a lapse nobody tells, and the first who asks has it.
query($node, q(SELECT gatepost.lease_break('ends')));
later(51);
acquire($node, 'ends', '10 ms');
told($channel);
later(11);
is(told($channel), 0, 'a lapse tells nobody');
isnt(acquire($node, 'ends', '1 h'), '', 'and whoever asks has it');

# Who leaves early passes the call on: to the next outside, and to the first inside.
outside('ends', 2);
give_back('ends');
is(told($channel), 1, 'the first is called');
is(query($node, unqueue('ends', 1)), 't', 'he leaves');
is(told($channel), 1, 'and the next is told');
isnt(ask('ends', 2), '', 'who takes it');
outside('ends', 3);
is(query($node, unqueue('ends', 3)), 't', 'who leaves while it is held');
is(told($channel), 0, 'tells nobody');
outside('ends', 4);
my $behind = inside('ends');
give_back('ends');
query($node, unqueue('ends', 4));
isnt(scalar(sent_result($behind->{session})), '', 'who leaves before somebody inside lets him go on');
$behind->{session}->quit;

# Others hold back for 50 ms from who is called outside; then he is passed over, and keeps his place.
for my $freed ('release', 'break')
{
	outside('slow', 5);
	outside('slow', 6);
	acquire($node, 'slow', '1 h') if $freed eq 'release';
	$behind = inside('slow');
	is(queue_of('slow'), "outside 5, outside 6, $behind->{pid}", "$freed: two outside, one inside");
	$freed eq 'release' ? give_back('slow') : query($node, q(SELECT gatepost.lease_break('slow')));
	later(49);
	is(acquire($node, 'slow', '1 h'), '', 'a mere try does not overtake who is called outside');
	is(ask('slow', 6), '', 'nor does who is behind him outside');
	is(query($node, "SELECT count(*) FROM gatepost.waiters WHERE pid = $behind->{pid}"), 1, 'nor inside');
	later(2);
	isnt(scalar(sent_result($behind->{session})), '', 'after 51 ms the one inside goes on');
	is(queue_of('slow'), 'outside 5, outside 6', 'and those outside keep their places');
	$behind->{session}->quit;
}
give_back('slow');
is(ask('slow', 6), '', 'called again he is still before the other');
isnt(ask('slow', 5), '', 'and is served');
give_back('slow');
isnt(ask('slow', 6), '', 'then the other');
# A purge leaves the row that tells whose turn it is.
outside('purged', 1);
acquire($node, 'purged', '1 h');
give_back('purged');
query($node, q(SELECT gatepost.lease_purge('0', 'purged')));
is(acquire($node, 'purged', '1 h'), '', 'a purge takes nobody his turn');
later(51);
is(query($node, q(SELECT gatepost.lease_purge('0', 'purged'))), 1, 'nor waits for longer');
query($node, unqueue('purged', 1));
acquire($node, 'purged', '1 h');
give_back('purged');
is(query($node, q(SELECT gatepost.lease_purge('0', 'purged'))), 1, 'nor where nobody waits');

# A place whose stay is over, or of another boot, stands before nobody.
outside('slow', 7);
later(299_999);
give_back('slow');
is(acquire($node, 'slow', '1 h'), '', 'a place counts until its stay is over');
later(1);
isnt(my $over = acquire($node, 'slow', '1 h'), '', 'and not longer');
is(query($node, "SELECT gatepost.lease_transfer('slow', $over, '" . id(7) . "')"), '', 'nor is it handed anything');
is(queue_of('slow'), '', 'nor shown');
is(query($node, unqueue('slow', 7)), 'f', 'nor given up');
is(query($node, q(SELECT count(*) FROM gatepost.queue WHERE name = 'slow')), 1, 'its row is left');
is(query($node, q(SELECT gatepost.lease_purge('1 day'), count(*) FROM gatepost.queue WHERE name = 'slow')), '0|1', 'until a purge');
is(query($node, q(SELECT count(*) FROM gatepost.queue WHERE name = 'slow')), 0, 'takes it away');
outside('slow', 8);
later(200_000);
outside('slow', 8);
later(200_000);
is(queue_of('slow'), 'outside 8', 'a place that is prolonged in time goes on');

# The ttl counts from the grant, not from the place, also when the lease is handed over.
query($node, "SELECT gatepost.lease_queue('late', '" . id($_) . "', '5 s', '5 min')") for 1, 2;
my $early = acquire($node, 'late', '20 s');
later(20_000);
my $remaining = q(SELECT remaining FROM gatepost.leases WHERE name = 'late');
my $late = query($node, "SELECT gatepost.lease_acquire('late', '5 s', request_id => '" . id(1) . "')");
is(query($node, $remaining), '00:00:05', 'the ttl counts from the grant');
later(3_000);
isnt(query($node, "SELECT gatepost.lease_transfer('late', $late, '" . id(2) . "')"), '', 'it is handed over');
is(query($node, $remaining), '00:00:05', 'and counts from there');

# Places of an aborted transaction are none, and those of an open one stand before nobody.
session_query($holder, 'BEGIN; ' . enqueue('open', 1));
is(queue_of('open'), '', 'a place that is not committed is not shown');
is(query_error($node, enqueue('open', 1)), 'LG010',
	'the same request of another session is refused meanwhile');
my $token = acquire($node, 'open', '1 h');
query($node, "SELECT gatepost.lease_release('open', $token)");
isnt($token = acquire($node, 'open', '1 h'), '', 'and nobody holds back for it');
is(query($node, "SELECT gatepost.lease_transfer('open', $token, '" . id(1) . "')"), '', 'nor can it be handed the lease');
session_query($holder, 'COMMIT');
isnt(query($node, "SELECT gatepost.lease_transfer('open', $token, '" . id(1) . "')"), '', 'committed it can');

# A transfer tells its receiver, when it commits.
$channel = outside('hand', 1);
session_query($listener, qq(LISTEN "$channel"));
$token = acquire($node, 'hand', '1 h');
session_query($holder, "BEGIN; SELECT gatepost.lease_transfer('hand', $token, '" . id(1) . "')");
is(query_error($node, "SELECT gatepost.lease_acquire('hand', '1 h', request_id => '" . id(1) . "')"), 'LG010',
	'while a transfer is open its receiver gets no answer');
is(query_error($node, enqueue('hand', 1)), 'LG010', 'nor a second place');
is(told($channel), 0, 'and is not told');
session_query($holder, 'COMMIT');
is(told($channel), 1, 'a transfer tells its receiver');
my $received = ask('hand', 1);
cmp_ok($received, '>', $token, 'who finds his token');

# Watchers: told each time, for as long as they watch, though they have no place.
is(query($node, q(SELECT gatepost.lease_watch('hand'))), $channel, 'a watcher listens on the same channel');
my $inside = inside('hand');
give_back('hand');
is(told($channel), 1, 'a watcher is told though the first is inside');
isnt(scalar(sent_result($inside->{session})), '', 'who is served');
give_back('hand');
is(told($channel), 1, 'and told again');
later(299_999);
acquire($node, 'hand', '1 h');
give_back('hand');
is(told($channel), 1, 'for 5 minutes');
later(2);
acquire($node, 'hand', '1 h');
give_back('hand');
is(told($channel), 0, 'and not longer');
query($node, q(SELECT gatepost.lease_watch('hand')));
query($node, q(SELECT gatepost.lease_unwatch('hand')));
acquire($node, 'hand', '1 h');
give_back('hand');
is(told($channel), 0, 'not any more when the watch is over');
$inside->{session}->quit;

# A transaction that frees a name and goes on looks again at its end: who has come meanwhile, found the name in flight.
$release = q(SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = 'long');
for my $begin ("BEGIN; $release", "BEGIN; SAVEPOINT s; $release; RELEASE s", q(BEGIN; SELECT gatepost.lease_break('long')))
{
	acquire($node, 'long', '1 h');
	session_query($holder, $begin);
	session_query($listener, 'LISTEN "' . ($channel = outside('long', 1)) . '"');
	is(ask('long', 1), '', "$begin: who comes before the commit gets nothing");
	is(told($channel), 0, 'and is not told yet');
	later(60);
	session_query($holder, 'COMMIT');
	is(told($channel), 1, 'he is at the commit');
	later(49);
	is(acquire($node, 'long', '1 h'), '', 'and not overtaken after it');
	isnt(ask('long', 1), '', 'and is served');
	give_back('long');
}
acquire($node, 'long', '1 h');
session_query($holder, "BEGIN; $release");
query($node, q(SELECT gatepost.lease_watch('long')));
is(told($channel), 0, 'nor a watcher before the commit');
session_query($holder, 'COMMIT');
is(told($channel), 1, 'but at it');
query($node, q(SELECT gatepost.lease_unwatch('long')));

acquire($node, 'long', '1 h');
my $leaver = inside('long');
outside('long', 2);
session_query($holder, "BEGIN; $release");
query($node, "SELECT pg_cancel_backend($leaver->{pid})");
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM gatepost.waiters WHERE pid = $leaver->{pid}")
  or die 'he waits on';
is(told($channel), 0, 'the first was inside when the name was freed, and has left');
session_query($holder, 'COMMIT');
is(told($channel), 1, 'the next is told at the commit');
isnt(ask('long', 2), '', 'and is served');
end_session($leaver->{session});

# Whoever has the queue locked at the call does not keep the commit from telling.
my $locker = session($node);
for my $free ($release, q(SELECT gatepost.lease_release_many(array_agg(name), array_agg(token)) FROM gatepost.leases WHERE name = 'long'))
{
	acquire($node, 'long', '1 h');
	outside('long', 5);
	session_query($locker, 'BEGIN; LOCK TABLE gatepost.queue IN ACCESS EXCLUSIVE MODE');
	session_query($holder, "BEGIN; $free");
	session_query($locker, 'COMMIT');
	is(told($channel), 0, 'a release while the queue is locked');
	session_query($holder, 'COMMIT');
	is(told($channel), 1, 'tells at the commit');
	isnt(ask('long', 5), '', 'who is first');
	give_back('long');
	later(51);
}
acquire($node, 'long', '1 h');
$locker->quit;

session_query($holder, "BEGIN; SAVEPOINT s; $release; ROLLBACK TO s");
outside('long', 3);
told($channel);
session_query($holder, 'COMMIT');
is(told($channel), 0, 'a release that was rolled back tells nobody at the commit');
query($node, unqueue('long', 3));

# Who is about to come or to leave, in a transaction that is still open, is told too: nobody would later.
session_query($holder, 'BEGIN; ' . enqueue('long', 4));
give_back('long');
is(told($channel), 1, 'a place that is not committed is told');
session_query($holder, 'COMMIT');
isnt(ask('long', 4), '', 'and served when it is');

# A receiver that listens first and then looks misses nothing: released in between, the look finds it.
$token = acquire($node, 'between', '1 h');
$channel = outside('between', 1);
give_back('between');
session_query($listener, qq(LISTEN "$channel"));
is(told($channel), 0, 'a release before LISTEN is not heard');
isnt(ask('between', 1), '', 'and found by the look after it');

# The queue itself may be gone by the end.
acquire($node, 'last', '1 h');
is( session_error(
		$holder, q(
	BEGIN;
	SELECT gatepost.lease_break('last'), pg_sleep(0.01);
	DROP EXTENSION gatepost;
	COMMIT)),
	'', 'a transaction that frees a name may drop the extension');

$_->quit for $holder, $listener;
no_lock_left($node, 'nothing is left locked');
$node->stop;
done_testing();
