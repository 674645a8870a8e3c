# 200,000 renewals of 1,000 leases: at least 99 of 100 are heap-only, and the heap stays under a megabyte.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('renewals');

# Names of 32 bytes. Each hundred renewals are a transaction, as a client's batch would be.
query(
	$node, q(
	CREATE TABLE held AS
		SELECT n, rpad('lease-' || n, 32, '.') AS name, gatepost.lease_acquire(rpad('lease-' || n, 32, '.'), '1 h') AS token
		FROM generate_series(1, 1000) n;
	CREATE PROCEDURE renew_all(rounds int) LANGUAGE plpgsql AS $$
	DECLARE
		names text[] := (SELECT array_agg(name ORDER BY n) FROM held);
		tokens bigint[] := (SELECT array_agg(token ORDER BY n) FROM held);
	BEGIN
		FOR round IN 1 .. rounds LOOP
			FOR i IN 1 .. 1000 LOOP
				IF NOT gatepost.lease_renew(names[i], tokens[i]) THEN
					RAISE EXCEPTION 'lease % was lost', names[i];
				END IF;
				IF i % 100 = 0 THEN
					COMMIT;
				END IF;
			END LOOP;
		END LOOP;
	END $$
));
is(query($node, 'SELECT count(DISTINCT token) FROM held'), 1000, '1,000 leases are held');

my $figures = q(
	SELECT pg_stat_get_tuples_updated(oid), pg_stat_get_tuples_hot_updated(oid), pg_relation_size(oid)
	FROM pg_class WHERE oid = 'gatepost.lease_slots'::regclass);
my ($updates, $hot) = split /\|/, query($node, $figures);
query($node, 'CALL renew_all(200); SELECT pg_stat_force_next_flush()');
my ($updates_after, $hot_after, $size) = split /\|/, query($node, $figures);
$updates = $updates_after - $updates;
$hot = $hot_after - $hot;

is($updates, 200_000, '200,000 renewals were written');
cmp_ok($hot, '>=', 0.99 * $updates, "$hot of them heap-only");
cmp_ok($size, '<', 1024 * 1024, "the heap has $size bytes");
is( query($node, q(SELECT count(*) FROM held JOIN gatepost.leases USING (name, token) WHERE state = 'held')),
	1000,
	'all leases are still held');

done_testing();
