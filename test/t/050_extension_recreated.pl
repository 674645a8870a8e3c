# DROP and CREATE EXTENSION forget everything but time: within the hour, too, the next token is above all earlier ones,
# and sessions that lived through it go on.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('recreated');
query($node, 'CREATE TABLE job (id int PRIMARY KEY, state text, fence bigint); INSERT INTO job VALUES (1)');

my $living = session($node);
my $update = q(SELECT gatepost.fenced_update('job', '{"id": 1}', '{"state": "%s"}', %s));
my ($last, $fallen, $errors) = (0, 0, 0);
for my $round (1 .. 20)
{
	my $token = session_query($living, q(SELECT gatepost.lease_acquire('x', '1 h')));
	$fallen++ if $token eq '' || $token <= $last;
	$errors++ if session_query($living, sprintf $update, "round $round", $token) ne 't';
	$last = query($node, q(SELECT max(gatepost.lease_acquire('n-' || n, '1 h')) FROM generate_series(1, 100) n));
	query($node, 'DROP EXTENSION gatepost; CREATE EXTENSION gatepost');
}
is($fallen, 0, 'tokens rose over 20 rounds of DROP and CREATE EXTENSION');
is($errors, 0, 'each round passed the fence that the round before had left');

is(session_query($living, "SELECT gatepost.lease_status('x', $last)"), 'unknown', 'nothing is known of earlier leases');
is(session_error($living, q(SELECT gatepost.lease_renew('x', 1))), '', 'a low token is an ordinary stale one');

# All in one transaction, and undone.
my $token = session_query(
	$living, q(
	BEGIN;
	DROP EXTENSION gatepost;
	CREATE EXTENSION gatepost;
	SELECT gatepost.lease_acquire('x', '1 h')));
cmp_ok($token, '>', $last, 'in one transaction, too');
session_query($living, 'ROLLBACK');
my $next = session_query($living, q(SELECT gatepost.lease_acquire('x', '1 h')));
cmp_ok($next, '>', $last, 'after its rollback the old extension works on');

# Who waits takes no lock that keeps the extension from being dropped, and goes on with the new one.
for my $wait (
	q(lease_acquire('held', '1 h', '1 h')),
	q(lease_acquire_all('{held}', '1 h', '1 h')),
	q(semaphore_acquire('permits', 1, '1 h', wait => '1 h')))
{
	my $highest = query($node, q(SELECT greatest(gatepost.semaphore_acquire('permits', 1, '1 h'), gatepost.lease_acquire('held', '1 h'))));
	my $waiting = session($node);
	my $pid = session_query($waiting, 'SELECT pg_backend_pid()');
	send_query($waiting, "SELECT gatepost.$wait");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM gatepost.waiters WHERE pid = $pid") or die 'nobody waits';
	query($node, 'DROP EXTENSION gatepost; CREATE EXTENSION gatepost');
	# Wakes it, as everybody: nobody else is to call the new extension first.
	query($node, 'SELECT pg_reload_conf()');
	my $drawn = sent_result($waiting) =~ s/[{}]//gr;
	cmp_ok($drawn, '>', $highest, "$wait: above all earlier ones after a wait that outlived the extension");
	$next = $drawn;
	$waiting->quit;
}

session_query($living, 'DROP EXTENSION gatepost');
is(session_error($living, q(SELECT gatepost.lease_acquire('x', '1 h'))), '3F000', 'without the extension there is no function');
session_query($living, 'CREATE EXTENSION gatepost');
cmp_ok(session_query($living, q(SELECT gatepost.lease_acquire('x', '1 h'))), '>', $next, 'and with it tokens rise');
$living->quit;

done_testing();
