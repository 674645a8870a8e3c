# A transaction that keeps an old snapshot stops pruning: 20,000 renewals under it stay right, and the growth is what the
# versions need, once.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('snapshot');
query(
	$node, q(
	CREATE TABLE held AS
		SELECT n, 'held-' || n AS name, gatepost.lease_acquire('held-' || n, '1 h') AS token FROM generate_series(1, 100) n;
	CREATE PROCEDURE renew_all(rounds int) LANGUAGE plpgsql AS $$
	DECLARE
		tokens bigint[] := (SELECT array_agg(token ORDER BY n) FROM held);
	BEGIN
		FOR round IN 1 .. rounds LOOP
			FOR i IN 1 .. 100 LOOP
				IF NOT gatepost.lease_renew('held-' || i, tokens[i]) THEN
					RAISE EXCEPTION 'lease % was lost', i;
				END IF;
			END LOOP;
			COMMIT;
		END LOOP;
	END $$));
my $size = q(SELECT pg_relation_size('gatepost.lease_slots'));
my $gone = acquire($node, 'gone', '1 h');
my $taken = acquire($node, 'taken', '1 h');

my $old = session($node);
session_query($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
is(session_query($old, 'SELECT count(*) FROM held'), 100, 'a transaction has its snapshot');

query($node, "SELECT gatepost.lease_release('gone', $gone)");
query($node, "SELECT gatepost.lease_release('taken', $taken)");
my $new = acquire($node, 'taken', '1 h');
is(query_error($node, 'CALL renew_all(200)'), '', '20,000 renewals under it');

# Everybody sees the newest state, the old transaction too.
for my $who ([ 'a new session', sub { query($node, $_[0]) } ], [ 'the old transaction', sub { session_query($old, $_[0]) } ])
{
	my ($name, $ask) = @$who;
	is($ask->(q(SELECT count(*) FROM held JOIN gatepost.leases USING (name, token) WHERE state = 'held')),
		100, "$name sees all leases, once each");
	is($ask->(q(SELECT count(*) FROM gatepost.leases)), 102, "$name sees no row twice");
	is($ask->("SELECT gatepost.lease_status('taken', $taken)"), 'superseded', "$name sees the new holder");
	is($ask->(q(SELECT gatepost.lease_acquire('held-7', '1 s'))), '', "$name is refused a held name");
	is($ask->("SELECT gatepost.lease_renew('taken', $taken)"), 'f', "$name cannot renew a superseded token");
	is($ask->("SELECT gatepost.lease_renew('taken', $new)"), 't', "$name renews the current one") if $name =~ /new/;
}
my $grown = query($node, $size);
cmp_ok($grown, '<', 8 * 1024 * 1024, "the heap has $grown bytes");
my $granted = session_query($old, q(SELECT gatepost.lease_acquire('gone', '1 h')));
cmp_ok($granted, '>', $new, 'the old transaction is granted a name that was released after its snapshot');
session_query($old, 'COMMIT');
is(status($node, 'gone', $granted), 'held', 'and holds it');

# Without the snapshot the room is used again.
query($node, 'VACUUM gatepost.lease_slots');
is(query_error($node, 'CALL renew_all(100)'), '', '10,000 renewals without it');
cmp_ok(query($node, $size), '<=', $grown, 'the heap grows no further');
$old->quit;

done_testing();
