-- A reboot: leases of the boot before are recovering until their ttl has passed, the generation rises, tokens rise.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common
CREATE FUNCTION pg_temp.set_clock(file text, value text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY (SELECT %L) TO %L', value, current_setting('data_directory') || '/gatepost_test_' || file);
END $$;
CREATE FUNCTION pg_temp.at(seconds numeric) RETURNS void LANGUAGE sql AS $$ SELECT pg_temp.set_clock('boottime', trunc(seconds * 1000000)::text) $$;
CREATE FUNCTION pg_temp.state(name text) RETURNS TABLE (state text, remaining interval, ttl interval) LANGUAGE sql
AS $$ SELECT state, remaining, ttl FROM gatepost.leases AS l WHERE l.name = $1 $$;
SET intervalstyle = postgres;

-- the first boot, 5000 s old
SELECT pg_temp.at(5000), pg_temp.set_clock('boot_id', 'clock_reboot first') \g /dev/null
SELECT gatepost.lease_acquire('reboot/a', '60 s') AS a, gatepost.lease_acquire('reboot/b', '60 s') AS b,
       gatepost.lease_acquire('reboot/c', '60 s') AS c, gatepost.lease_acquire('reboot/d', '1 day') AS d,
       gatepost.lease_acquire('reboot/released', '60 s') AS released, gatepost.lease_acquire('reboot/broken', '60 s') AS broken,
       gatepost.lease_acquire('reboot/lapsed', '7 s') AS lapsed \gset
SELECT gatepost.lease_release('reboot/released', :released), gatepost.lease_break('reboot/broken') AS breaker \gset
SELECT pg_temp.at(5010) \g /dev/null
SELECT gatepost.lease_status('reboot/lapsed', :lapsed), gatepost.token_generation() AS g1 \gset

-- the second boot, 5 s old: a look changes nothing yet
SELECT pg_temp.at(5), pg_temp.set_clock('boot_id', 'clock_reboot second') \g /dev/null
SELECT gatepost.lease_status('reboot/a', :a), gatepost.lease_status('reboot/a', :a - 32),
       gatepost.lease_status('reboot/released', :released), gatepost.lease_status('reboot/broken', :broken);
-- what had lapsed before cannot be told from what had not: it is recovering too
SELECT gatepost.lease_status('reboot/lapsed', :lapsed);
SELECT gatepost.token_generation() = :g1 AS unchanged;
SELECT name, state FROM gatepost.leases WHERE name LIKE 'reboot/%' ORDER BY name COLLATE "C";

-- the first call that could change something notices, though it is refused
SELECT gatepost.lease_acquire('reboot/a', '60 s') AS held;
SELECT gatepost.token_generation() AS g2 \gset
SELECT :g2 > :g1 AS risen;
SELECT gatepost.lease_acquire('reboot/a', '60 s') AS held, gatepost.token_generation() = :g2 AS risen_once;
-- what was free is free, with larger tokens
SELECT gatepost.lease_acquire('reboot/released', '60 s') AS released2, gatepost.lease_acquire('reboot/broken', '60 s') AS broken2,
       gatepost.lease_acquire('reboot/new', '60 s') AS new_token \gset
SELECT :released2 > :lapsed AND :broken2 > :released2 AND :new_token > :broken2 AS larger, :released2 >> 34 = :g2 AS generation;

SELECT pg_temp.at(8) \g /dev/null
-- the old holder comes back: renewed, with its token, anchored to this boot
SELECT gatepost.lease_renew('reboot/b', :b);
SELECT * FROM pg_temp.state('reboot/b');
SELECT gatepost.lease_status('reboot/b', :b), gatepost.lease_acquire('reboot/b', '60 s') AS held;
-- or gives it back
SELECT gatepost.lease_release('reboot/c', :c), gatepost.lease_status('reboot/c', :c);
SELECT gatepost.lease_acquire('reboot/c', '60 s') > :c AS granted;
-- a token that was not the current one is nothing, before and after
SELECT gatepost.lease_renew('reboot/a', :a - 32), gatepost.lease_release('reboot/a', :a - 32);
-- own request ids and breaking: an administrator need not wait
SELECT gatepost.lease_break('reboot/d') > :d AS broken, gatepost.lease_status('reboot/d', :d);
SELECT gatepost.lease_acquire('reboot/d', '60 s') > :d AS granted;
-- recovering rows are not purged
SELECT gatepost.lease_purge('0', 'reboot/a'), gatepost.lease_status('reboot/a', :a);

-- a generation raised by hand is no other machine: nobody waits longer for it
SELECT pg_temp.at(35) \g /dev/null
SELECT gatepost.token_raise_generation() > :g2 AS raised;
SELECT * FROM pg_temp.state('reboot/a');

-- a whole ttl after the call that noticed it is over for whoever has not come back
SELECT pg_temp.at(64.999999) \g /dev/null
SELECT gatepost.lease_status('reboot/a', :a), gatepost.lease_acquire('reboot/a', '60 s') AS held;
SELECT pg_temp.at(65) \g /dev/null
SELECT gatepost.lease_status('reboot/a', :a), gatepost.lease_renew('reboot/a', :a), gatepost.lease_release('reboot/a', :a);
SELECT gatepost.lease_acquire('reboot/a', '60 s') AS a2 \gset
SELECT :a2 > :a AS larger;
-- the renewed one counts from its renewal
SELECT * FROM pg_temp.state('reboot/b');
SELECT pg_temp.at(68) \g /dev/null
SELECT gatepost.lease_status('reboot/b', :b);

-- a third boot whose clock is already past the old deadlines: they mean nothing here
SELECT pg_temp.at(100), pg_temp.set_clock('boot_id', 'clock_reboot third') \g /dev/null
SELECT gatepost.lease_acquire('reboot/e', '200 s') AS e, gatepost.token_generation() > :g2 AS risen \gset
SELECT :'risen' AS risen;
SELECT pg_temp.at(7), pg_temp.set_clock('boot_id', 'clock_reboot fourth') \g /dev/null
SELECT gatepost.lease_status('reboot/e', :e), gatepost.lease_acquire('reboot/e', '1 s') AS held;
-- back to a boot id seen before (a snapshot of the machine): another boot all the same
SELECT gatepost.token_generation() AS g4 \gset
SELECT pg_temp.at(9), pg_temp.set_clock('boot_id', 'clock_reboot third') \g /dev/null
SELECT gatepost.lease_acquire('reboot/f', '1 s') AS f \gset
SELECT :f > :e AS larger, gatepost.token_generation() > :g4 AS risen;

-- a transaction that notices and is rolled back: the raise stays
SELECT gatepost.token_generation() AS g5 \gset
SELECT pg_temp.at(3), pg_temp.set_clock('boot_id', 'clock_reboot fifth') \g /dev/null
BEGIN;
SELECT gatepost.lease_acquire('reboot/g', '60 s') AS rolled_back \gset
ROLLBACK;
SELECT gatepost.token_generation() AS g6 \gset
SELECT gatepost.lease_acquire('reboot/g', '60 s') AS g \gset
SELECT :g6 > :g5 AS risen, gatepost.token_generation() = :g6 AS once, :g > :rolled_back AS larger;
-- nor is a user without rights on our tables in its way
CREATE ROLE regress_gatepost_reboot;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_reboot;
GRANT EXECUTE ON FUNCTION gatepost.lease_acquire, gatepost.token_generation TO regress_gatepost_reboot;
SELECT pg_temp.at(3), pg_temp.set_clock('boot_id', 'clock_reboot sixth') \g /dev/null
SET ROLE regress_gatepost_reboot;
SELECT gatepost.lease_acquire('reboot/h', '60 s') > :g AS granted, gatepost.token_generation() > :g6 AS risen;
RESET ROLE;
SELECT pg_temp.locks_left();

-- the data directory comes to a machine that has been up for long: its clock has nothing to do with the old ttls
SELECT gatepost.lease_acquire('reboot/i', '60 s') AS i \gset
SELECT pg_temp.at(432000), pg_temp.set_clock('boot_id', 'clock_reboot another machine') \g /dev/null
SELECT gatepost.lease_status('reboot/i', :i), gatepost.lease_acquire('reboot/i', '60 s') AS held;
SELECT pg_temp.at(432059.999999) \g /dev/null
SELECT gatepost.lease_status('reboot/i', :i), gatepost.lease_acquire('reboot/i', '60 s') AS held;
SELECT pg_temp.at(432060) \g /dev/null
SELECT gatepost.lease_status('reboot/i', :i), gatepost.lease_acquire('reboot/i', '60 s') > :i AS granted;

SELECT count(gatepost.lease_break(name)) > 0 AS broken FROM gatepost.leases WHERE name LIKE 'reboot/%' AND state IN ('held', 'recovering');
SELECT gatepost.lease_purge('0', 'reboot/') > 0 AS purged;
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f gatepost_test_boottime gatepost_test_boot_id';
SELECT gatepost.token_draw() > :g AS on_the_real_clock;
DROP OWNED BY regress_gatepost_reboot;
DROP ROLE regress_gatepost_reboot;
