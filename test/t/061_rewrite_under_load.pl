# VACUUM FULL, REINDEX and CLUSTER lock the table for a moment: holders wait and keep their leases, who asks for a name
# gets it or is told to try again, and nobody meets a relation that is gone.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('rewrite');

query(
	$node, q(
	CREATE TABLE held AS
		SELECT n, 'held-' || n AS name, gatepost.lease_acquire('held-' || n, '1 h') AS token FROM generate_series(1, 18) n;
	CREATE TABLE answers (name text, token bigint, code text);
	CREATE FUNCTION ask(name text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO answers VALUES (name, gatepost.lease_acquire(name, '1 ms'), '00000');
	EXCEPTION WHEN OTHERS THEN
		INSERT INTO answers VALUES (name, NULL, SQLSTATE);
	END $$));

my $load = start_load($node, q(
\set own :client_id * 3 + random(1, 3)
\set n random(1, 20)
SELECT 1 / gatepost.lease_renew(name, token)::int FROM held WHERE n = :own;
SELECT ask('free-' || :n);
), qw(--client=6 --jobs=2 --time=600));
$node->poll_query_until('postgres', 'SELECT count(*) > 100 FROM answers') or die 'no load';

for my $command (
	'VACUUM FULL gatepost.lease_slots',
	'REINDEX TABLE gatepost.lease_slots',
	'CLUSTER gatepost.lease_slots USING lease_slots_pkey',
	'VACUUM FULL gatepost.identity',
	'VACUUM FULL gatepost.lease_slots')
{
	is(query_error($node, $command), '', $command);
	my $now = query($node, 'SELECT count(*) FROM answers WHERE token IS NOT NULL');
	ok($node->poll_query_until('postgres', "SELECT count(*) > $now FROM answers WHERE token IS NOT NULL"),
		'grants go on afterwards');
}
ok($load->{run}->pumpable, 'all of it happened under load');
unlike(end_load($load), qr/error|aborted/i, 'no renewal failed');

is(query($node, q(SELECT string_agg(DISTINCT code, ' ') FROM answers WHERE code NOT IN ('00000', '55P03'))),
	'', 'acquire answered, or said that the lock was not to be had in time');
is(query($node, q(SELECT count(*) FROM held JOIN gatepost.leases USING (name, token) WHERE state = 'held')),
	18, 'every lease is still held by its token');
is(query($node, q(SELECT count(token) - count(DISTINCT token) FROM answers)), 0, 'no token was granted twice');
is(query($node, q(SELECT count(*) - count(DISTINCT name) FROM gatepost.lease_slots)), 0, 'no name has two rows');

done_testing();
