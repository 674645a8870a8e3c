# Who wakes a waiter: every end of what stood in his way, by the process that ended it. Timers are out of the way in the
# test build; and what the server wakes for reasons of its own counts for nothing, since it is written down who set the latch.
# Leases lapse when the test says so, and who is to leave the queue is kept until the next stands behind him.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Gatepost::Waiting;
use Test::More;

my $node = new_server('woken', conf => "max_locks_per_transaction = 256\n");
start_trace($node);
stop_clock($node);
my $controller = session($node);
my $holder = session($node);
my $holder_pid = session_query($holder, 'SELECT pg_backend_pid()');

# In a transaction of his own, of which he stays in the queue until let_leave, and no longer.
sub impatient_session
{
	my ($name) = @_;
	session_query($controller, 'SELECT pg_advisory_lock(18256, 18)');
	return waiting_session($node, $name, before => q(BEGIN; SET LOCAL gatepost.test_pause = 'wait_looked'), wait => '1 ms', until => 'stops');
}

sub let_leave
{
	my ($waiter, $what) = @_;
	session_query($controller, 'SELECT pg_advisory_unlock(18256, 18)');
	is(scalar(sent_result($waiter->{session})), '', $what);
	return;
}

# He was woken by the process that is named, was served, and slept no more in between.
sub served_by
{
	my ($waiter, $pid, $what) = @_;
	my $token = sent_result($waiter->{session});
	my @of_both = grep { $_->[0] == $waiter->{pid} || $_->[1] eq 'wakes' && $_->[2] == $waiter->{pid} } traced($node);
	my $wakes = 0;
	$wakes++ while $wakes < @of_both && !($of_both[$wakes][0] == $pid && $of_both[$wakes][1] eq 'wakes');
	my $again = grep { $_->[1] eq 'sleeps' } @of_both[ $wakes .. $#of_both ];
	ok($wakes < @of_both && $token ne '', "$what wakes the first waiter") or die 'nobody is woken';
	is($again, 0, '.. and he finds what he waited for');
	give_back($node, $waiter->{name});
	$waiter->{session}->quit;
	start_trace($node);
	return;
}

my $acquire = q(SELECT gatepost.lease_acquire('ends', '1 h'));
my $release = q(SELECT gatepost.lease_release('ends', token) FROM gatepost.leases WHERE name = 'ends');
my $lock = q(SELECT gatepost.advisory_xact_lock('ends'));
my $over = q(SELECT gatepost.lease_release('ends', gatepost.lease_acquire('ends', '1 h')));
my $purge = q(SELECT gatepost.lease_purge('0', 'ends'));
my @ends = (
	[ 'a release', [], [$release], $acquire ],
	[ 'a release in a transaction', ['BEGIN'], [ $release, 'COMMIT' ], $acquire ],
	[ 'a break', [], [q(SELECT gatepost.lease_break('ends'))], $acquire ],
	[ 'a rollback', [ 'BEGIN', $acquire ], ['ROLLBACK'] ],
	[ 'a rollback to a savepoint', [ 'BEGIN', 'SAVEPOINT s', $acquire ], ['ROLLBACK TO s'] ],
	[ 'a rollback to an outer savepoint', [ 'BEGIN', 'SAVEPOINT s', 'SAVEPOINT t', $acquire, 'RELEASE t' ], ['ROLLBACK TO s'] ],
	[ 'a lock that a rollback to a savepoint ends', [ 'BEGIN', 'SAVEPOINT s', $lock ], ['ROLLBACK TO s'] ],
	[ 'an error', [ 'BEGIN', $acquire ], ['SELECT 1 / 0'] ],
	[ 'the end of a lock', [ 'BEGIN', $lock ], ['COMMIT'] ],
	[ 'a lock that is rolled back', [ 'BEGIN', $lock ], ['ROLLBACK'] ],
	[ 'an unlock', [q(SELECT gatepost.advisory_lock('ends'))], [q(SELECT gatepost.advisory_unlock('ends'))] ],
	[ 'a purge', [ 'BEGIN', $purge ], ['COMMIT'], $over ],
	[ 'a purge that is rolled back', [ 'BEGIN', $purge ], ['ROLLBACK'], $over ],
);
for my $end (@ends)
{
	my ($what, $begin, $finish, $before) = @$end;
	session_query($holder, $before) if defined $before;
	session_query($holder, $_) for @$begin;
	my $waiter = waiting_session($node, 'ends');
	session_error($holder, $_) for @$finish;
	served_by($waiter, $holder_pid, $what);
	session_query($holder, 'ROLLBACK') if @$begin;
}

# An exception block takes back a release: the name is not free, and who waits learns how long it is still taken.
session_query($holder, q(SELECT gatepost.lease_acquire('ends', '3 s')));
session_query($holder, 'BEGIN');
my $behind_release = waiting_session($node, 'ends');
session_query($holder, qq(DO \$\$ BEGIN PERFORM gatepost.lease_release('ends', token) FROM gatepost.leases WHERE name = 'ends';
	RAISE 'no'; EXCEPTION WHEN raise_exception THEN NULL; END \$\$));
is(woken($node, $holder_pid, $behind_release->{pid}), 1, 'an exception block wakes the first waiter');
session_query($holder, 'COMMIT');
later($node, 3);
isnt(scalar(sent_result($behind_release->{session})), '', 'who takes the name when it lapses');
give_back($node, 'ends');
$behind_release->{session}->quit;

# Not before the locks of the transaction are gone, however many there are. They go in the order in which they were taken.
for (1 .. 5)
{
	session_query($holder, q(BEGIN; SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, 20000) AS n));
	session_query($holder, $lock);
	my $waiter = waiting_session($node, 'ends');
	session_query($holder, 'COMMIT');
	served_by($waiter, $holder_pid, 'a commit with many locks');
}

# Whoever leaves tells the next, though his transaction goes on.
start_trace($node);
acquire($node, 'left', '3 s');
my $leaver = impatient_session('left');
my $next = waiting_session($node, 'left');
let_leave($leaver, 'a wait is over');
is(woken($node, $leaver->{pid}, $next->{pid}), 1, 'who leaves tells the next');
later($node, 3);
isnt(scalar(sent_result($next->{session})), '', 'who is the first now and takes the name when it lapses');
session_query($leaver->{session}, 'COMMIT');
give_back($node, 'left');
$_->{session}->quit for $leaver, $next;

for my $leave ('cancel', 'terminate')
{
	start_trace($node);
	acquire($node, 'left', '3 s');
	my ($first, $second) = map { waiting_session($node, 'left') } 1 .. 2;
	query($node, "SELECT pg_${leave}_backend($first->{pid})");
	wait_traced($node, $first->{pid}, 'wakes', 1);
	is(woken($node, $first->{pid}, $second->{pid}), 1, "a $leave tells the next");
	later($node, 3);
	isnt(scalar(sent_result($second->{session})), '', 'who takes the name when it lapses');
	give_back($node, 'left');
	end_session($first->{session});
	$second->{session}->quit;
}

# Who waits a second time in one transaction has lost his place, and stands in nobody's way.
start_trace($node);
my $again = session_query($holder, q(SELECT gatepost.lease_acquire('again', '1 h')));
my $patient = impatient_session('again');
my $between = waiting_session($node, 'again');
let_leave($patient, 'a first wait is over');
wait_again($node, $patient);
# A renewal makes him look again, and only the first then sleeps no longer than the lease.
session_query($holder, "SELECT gatepost.lease_renew('again', $again, '2 s')");
later($node, 2);
isnt(scalar(sent_result($between->{session})), '', 'who came in between is served when the lease lapses') or die 'he sleeps on';
give_back($node, 'again');
$between->{session}->quit;
isnt(scalar(sent_result($patient->{session})), '', 'then who waits again is served');
$patient->{session}->quit;

$_->quit for $holder, $controller;
$node->stop;
done_testing();
