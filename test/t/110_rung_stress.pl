# Eight sessions climb and descend on three names, with short leases that lapse: no two hold a name at once.
#
# Whoever holds a name notes from when to when he surely did: after the answer that granted it, until he gives it back or
# the lease may have lapsed; a renewal that answers true proves that it had not. Intervals of one name must not meet.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

# make bench runs it for longer.
my $seconds = $ENV{GATEPOST_STRESS_SECONDS} // 30;
my $node = new_server('ladder', conf => "synchronous_commit = off\n");
query(
	$node, q(
	CREATE UNLOGGED TABLE held (name text, how text, shared boolean, since timestamptz, until timestamptz);
	CREATE FUNCTION work(how text, name text, shared boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		since timestamptz := clock_timestamp();
	BEGIN
		PERFORM pg_sleep(random() * 0.003);
		INSERT INTO held VALUES (name, how, shared, since, clock_timestamp());
	END $$;
	CREATE FUNCTION under_lease(name text, token bigint, asked double precision, ttl interval) RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE
		since timestamptz := clock_timestamp();
		until timestamptz;
		renewed boolean;
	BEGIN
		PERFORM pg_sleep(random() * 0.008);
		until := clock_timestamp();
		BEGIN
			renewed := gatepost.lease_renew(name, token);
		EXCEPTION WHEN SQLSTATE 'LG010' THEN
			renewed := false;
		END;
		IF NOT renewed THEN
			until := least(until, to_timestamp(asked) + ttl - interval '10 us');
		END IF;
		IF until > since THEN
			INSERT INTO held VALUES (name, CASE WHEN renewed THEN 'renewed' ELSE 'lease' END, false, since, until);
		END IF;
		RETURN renewed;
	END $$;
	-- It may have lapsed, and somebody else may be taking it.
	CREATE FUNCTION release(name text, token bigint) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RETURN gatepost.lease_release(name, token);
	EXCEPTION WHEN SQLSTATE 'LG010' THEN
		RETURN false;
	END $$;
	CREATE FUNCTION in_transaction(name text, wait interval, shared boolean) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF gatepost.try_advisory_xact_lock(name, wait, shared) THEN
			PERFORM work('transaction', name, shared);
		END IF;
	END $$));

my $head = <<'EOS';
\set n random(1, 3)
\set wait random(0, 1) * random(1, 20)
EOS
my %scripts = (
	'110_transaction@3' => $head . "SELECT in_transaction('n' || :n, :wait * interval '1 ms', random() < 0.3);\n",
	'110_session@2' => $head . <<'EOS',
SELECT gatepost.try_advisory_lock('n' || :n, :wait * interval '1 ms')::int AS locked \gset
\if :locked
SELECT work('session', 'n' || :n);
SELECT gatepost.advisory_unlock('n' || :n);
\endif
EOS
	# Locked in a transaction that is rolled back, unlocked before the commit of the work.
	'110_session_rollback@2' => $head . <<'EOS',
\set locked 0
BEGIN;
SELECT gatepost.try_advisory_lock('n' || :n, :wait * interval '1 ms')::int AS locked \gset
ROLLBACK;
\if :locked
BEGIN;
SELECT work('session', 'n' || :n), gatepost.advisory_unlock('n' || :n);
SELECT work('unlocked', 'n' || :n);
COMMIT;
\endif
EOS
	# Short: some lapse under their holder.
	'110_lease@3' => $head . <<'EOS',
SELECT extract(epoch FROM clock_timestamp()) AS asked, coalesce(gatepost.lease_acquire('n' || :n, '6 ms'), 0) AS token \gset
\if :token
SELECT under_lease('n' || :n, :token, :asked, '6 ms')::int AS renewed \gset
SELECT release('n' || :n, :token);
\endif
EOS
	'110_climb@2' => $head . <<'EOS',
\set token 0
BEGIN;
SELECT gatepost.try_advisory_xact_lock('n' || :n, :wait * interval '1 ms')::int AS locked \gset
\if :locked
SELECT work('climbing', 'n' || :n);
SELECT extract(epoch FROM clock_timestamp()) AS asked, coalesce(gatepost.lease_acquire('n' || :n, '6 ms'), 0) AS token \gset
\endif
COMMIT;
\if :token
SELECT under_lease('n' || :n, :token, :asked, '6 ms')::int AS renewed \gset
BEGIN;
SELECT release('n' || :n, :token)::int AS released \gset
\if :released
SELECT gatepost.try_advisory_xact_lock('n' || :n)::int AS locked \gset
\if :locked
SELECT work('descending', 'n' || :n);
\endif
\endif
COMMIT;
\endif
EOS
);
my @hows = qw(transaction session unlocked lease renewed climbing descending);
my $each = join ' AND ', map { "count(*) FILTER (WHERE how = '$_') > 20" } @hows;
my $met = q(SELECT count(*) FROM held a JOIN held b ON a.name = b.name AND a.ctid < b.ctid AND a.shared AND b.shared
	AND a.since < b.until AND b.since < a.until);
load_until($node, "8 sessions, $seconds s, no error", $seconds, '--client=8 --jobs=2', \%scripts,
	"SELECT $each AND ($met) > 0 FROM held");

for my $how (@hows)
{
	cmp_ok(query($node, "SELECT count(*) FROM held WHERE how = '$how'"), '>', 20, "$how: enough of them");
}
cmp_ok(query($node, $met), '>', 0, 'shared holders have met');
# An exclusive holder against all before him, a shared one against the exclusive ones.
is( query(
		$node, q(
		SELECT count(*), min(how || ' met at ' || since) FROM (
			SELECT *, max(until) OVER before AS any_until, max(until) FILTER (WHERE NOT shared) OVER before AS exclusive_until
			FROM held WINDOW before AS (PARTITION BY name ORDER BY since ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) h
		WHERE since < CASE WHEN shared THEN exclusive_until ELSE any_until END)),
	'0|', 'no two holders met');
no_lock_left($node, 'no lock is left');

done_testing();
