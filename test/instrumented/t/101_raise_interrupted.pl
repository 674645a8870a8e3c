# A raise sets the sequence, then writes down for which history: whoever is interrupted in between leaves a generation that
# the next call raises once more, and nothing worse.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $node = new_server('raise', conf => "wal_writer_delay = 10s\n");
override($node, 'boot_id', 'boot 1');
my $last = acquire($node, 'first', '1 h');
my $generation = query($node, 'SELECT gatepost.token_generation()');
my $identity = q(SELECT identity::text FROM gatepost.identity);
my $boot = 1;

sub next_boot
{
	$boot++;
	override($node, 'boot_id', "boot $boot");
	return;
}

sub raised_by
{
	my ($steps, $when) = @_;
	my $token = acquire($node, "boot $boot $when", '1 h');
	cmp_ok($token, '>', $last, "$when: the next token is larger");
	is(query($node, 'SELECT gatepost.token_generation()'), $generation + $steps, "$when: $steps generation(s) later");
	$last = acquire($node, "again $boot $when", '1 h');
	cmp_ok($last, '>', $token, "$when: the one after it, too");
	$generation = query($node, 'SELECT gatepost.token_generation()');
	is($generation, query($node, 'SELECT gatepost.token_generation()'), "$when: nobody raises it again");
	no_lock_left($node, "$when: no lock is left");
	return;
}

# An error.
for my $point (qw(raise_locked raise_set))
{
	next_boot();
	my $before = query($node, $identity);
	my $session = session($node);
	session_query($session, "SET gatepost.test_fault = '$point'");
	is(session_error($session, q(SELECT gatepost.lease_acquire('x', '1 h'))), 'XX000', "$point: an error in the raise");
	is(query($node, $identity), $before, "$point: the identity is the old one");
	no_lock_left($node, "$point: no lock is left");
	is(session_query($session, 'SELECT current_user = session_user'), 't', "$point: the session is itself again");
	is(query($node, 'SELECT gatepost.token_generation()'), $generation + ($point eq 'raise_set'), "$point: the sequence");
	session_query($session, 'RESET gatepost.test_fault');
	is(session_query($session, q(SELECT gatepost.lease_acquire('x', '1 ms') > 0)), 't', "$point: the session goes on");
	raised_by($point eq 'raise_set' ? 2 : 1, "after an error at $point");
	$session->quit;
	query($node, q(SELECT gatepost.lease_purge('0', 'x')));
}

# A crash.
next_boot();
my $controller = session($node);
session_query($controller, 'SELECT pg_advisory_lock(18256, 8)');
my $raising = session($node);
my $pid = session_query($raising, q(SET gatepost.test_pause = 'raise_set'; SELECT pg_backend_pid()));
send_query($raising, q(SELECT gatepost.lease_acquire('y', '1 h')));
ok(wait_blocked($node, $pid), 'a raise is stopped between the sequence and the identity');
$node->stop('immediate');
end_session($_) for $raising, $controller;
start_server($node);
is(query($node, 'SELECT gatepost.token_generation()'), $generation + 1, 'the sequence was on disk');
is(query($node, q(SELECT count(*) FROM gatepost.leases WHERE name = 'y')), 0, 'the grant was not');
raised_by(2, 'after a crash');

# Two who notice at once.
next_boot();
$controller = session($node);
session_query($controller, 'SELECT pg_advisory_lock(18256, 7)');
my @sessions = map { session($node) } 1 .. 2;
my @pids = map { session_query($_, q(SET gatepost.test_pause = 'raise_locked'; SELECT pg_backend_pid())) } @sessions;
for my $n (0, 1)
{
	send_query($sessions[$n], "SELECT gatepost.lease_acquire('both $n', '1 h') > $last");
	ok(wait_blocked($node, $pids[$n]), "session $n waits to raise");
}
session_query($controller, 'SELECT pg_advisory_unlock(18256, 7)');
is(scalar(sent_result($_)), 't', 'it is granted its name') for @sessions;
raised_by(1, 'two at once');
$_->quit for @sessions, $controller;

done_testing();
