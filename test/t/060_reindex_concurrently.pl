# REINDEX CONCURRENTLY and new indexes while sessions acquire, renew and release: no call fails, no lease is lost.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('reindex');

query(
	$node, q(
	CREATE TABLE held AS
		SELECT n, 'held-' || n AS name, gatepost.lease_acquire('held-' || n, '1 h') AS token FROM generate_series(1, 18) n;
	CREATE TABLE grants (name text, token bigint)));

# Each client renews leases of its own. A division by zero, which ends the client, stands for one that is lost.
my $load = start_load($node, q(
\set own :client_id * 3 + random(1, 3)
\set n random(1, 20)
SELECT 1 / gatepost.lease_renew(name, token)::int FROM held WHERE n = :own;
SELECT coalesce(gatepost.lease_acquire('free-' || :n, '1 h'), 0) AS token \gset
\if :token
INSERT INTO grants VALUES ('free-' || :n, :token);
SELECT 1 / gatepost.lease_release('free-' || :n, :token)::int;
\endif
), qw(--client=6 --jobs=2 --time=600));

# A session with an index of its own in its caches that does nothing meanwhile.
my $idle = session($node);
my $token = session_query($idle, q(SELECT gatepost.lease_acquire('idle', '1 h')));

my @commands = (
	'REINDEX INDEX CONCURRENTLY gatepost.lease_slots_pkey',
	'REINDEX TABLE CONCURRENTLY gatepost.lease_slots',
	'CREATE INDEX CONCURRENTLY plain ON gatepost.lease_slots (pid)',
	'REINDEX INDEX CONCURRENTLY gatepost.plain',
	'DROP INDEX CONCURRENTLY gatepost.plain',
	'CREATE INDEX CONCURRENTLY grants_token ON grants (token)',
	'VACUUM gatepost.lease_slots',
	'REINDEX INDEX CONCURRENTLY gatepost.lease_slots_pkey');
$node->poll_query_until('postgres', 'SELECT count(*) > 100 FROM grants') or die 'no load';
for my $command (@commands)
{
	is(query_error($node, $command), '', $command);
	my $now = query($node, 'SELECT count(*) FROM grants');
	ok($node->poll_query_until('postgres', "SELECT count(*) > $now FROM grants"), 'grants go on afterwards');
	is(session_query($idle, "SELECT gatepost.lease_renew('idle', $token)"), 't', 'an idle session finds its lease afterwards');
}
ok($load->{run}->pumpable, 'all of it happened under load');
unlike(end_load($load), qr/error|aborted/i, 'and none met an error');

is(query($node, q(SELECT count(*) FROM held JOIN gatepost.leases USING (name, token) WHERE state = 'held')),
	18, 'every lease is still held by its token');
is( query($node, q(SELECT count(*) FROM (SELECT token FROM grants GROUP BY token HAVING count(*) > 1) twice)),
	0, 'no token was granted twice');
is(query($node, q(SELECT count(*) - count(DISTINCT name) FROM gatepost.lease_slots)), 0, 'no name has two rows');
is(query($node, q(SELECT count(*) FROM gatepost.lease_slots)), query($node, q(
	SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM gatepost.lease_slots WHERE name > '')),
	'table and index agree');
$idle->quit;

done_testing();
