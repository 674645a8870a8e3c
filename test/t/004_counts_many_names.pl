# One statement acquires 100,000 names with default settings: a grant keeps no place in the shared lock table, so
# neither it nor anybody else runs out.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('names');
is(query($node, 'SHOW max_locks_per_transaction'), 64, 'max_locks_per_transaction is the default');

# A stranger whose every query needs 60 locks.
query(
	$node, q(
	CREATE TABLE parts (n int) PARTITION BY LIST (n);
	SELECT format('CREATE TABLE part_%s PARTITION OF parts FOR VALUES IN (%s)', n, n) FROM generate_series(1, 60) n \gexec
));

my $controller = session($node);
session_query($controller, 'SELECT pg_advisory_lock(1)');

# Halfway the statement stops at a lock of the controller's.
my $many = session($node);
my $pid = session_query($many, 'SELECT pg_backend_pid()');
session_query($many, 'BEGIN');
send_query(
	$many, q(
	SELECT count(token) FROM (
		SELECT gatepost.lease_acquire('name-' || n, '1 h') AS token,
			CASE WHEN n = 50000 THEN pg_advisory_xact_lock(1) END
		FROM generate_series(1, 100000) n OFFSET 0) grants));
ok(wait_blocked($node, $pid), 'the statement is halfway through');

sub others_work
{
	my ($when) = @_;
	no_lock_left($node, "$when: no lock of a name is left");
	is(query($node, 'SELECT count(*) FROM parts'), 0, "$when: a query over 60 partitions works");
	is(acquire($node, 'name-7', '1 h'), '', "$when: a granted name is busy");
	my $token = acquire($node, "other $when", '1 h');
	ok($token > 0, "$when: another name is granted");
	is(query($node, "SELECT gatepost.lease_release('other $when', $token)"), 't', "$when: and released");
	return;
}
others_work('halfway');

session_query($controller, 'SELECT pg_advisory_unlock(1)');
is(sent_result($many), 100_000, 'one statement acquires 100,000 names');
others_work('before the commit');
session_query($many, 'COMMIT');
others_work('after the commit');

is(query($node, q(SELECT count(DISTINCT token) FROM gatepost.leases WHERE name LIKE 'name-%' AND state = 'held')),
	100_000, '100,000 different tokens');

$_->quit for $many, $controller;
done_testing();
