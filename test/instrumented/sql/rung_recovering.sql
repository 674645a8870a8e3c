-- A lease of the boot before counts as live for the locks, too, until its ttl has passed; then it is superseded in place.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common
CREATE FUNCTION pg_temp.set_clock(file text, value text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY (SELECT %L) TO %L', value, current_setting('data_directory') || '/gatepost_test_' || file);
END $$;
CREATE FUNCTION pg_temp.at(seconds numeric) RETURNS void LANGUAGE sql AS $$ SELECT pg_temp.set_clock('boottime', trunc(seconds * 1000000)::text) $$;

SELECT pg_temp.at(5000), pg_temp.set_clock('boot_id', 'rung_recovering first') \g /dev/null
SELECT gatepost.lease_acquire('recovering/a', '60 s') AS a, gatepost.lease_acquire('recovering/b', '60 s') AS b,
       gatepost.lease_acquire('recovering/c', '60 s') AS c, gatepost.lease_acquire('recovering/lapsed', '1 s') AS lapsed \gset
SELECT pg_temp.at(5010) \g /dev/null
SELECT gatepost.lease_status('recovering/lapsed', :lapsed);

-- the next boot: the lock is the first call that could change something
SELECT pg_temp.at(5), pg_temp.set_clock('boot_id', 'rung_recovering second') \g /dev/null
SELECT gatepost.token_generation() AS g1 \gset
BEGIN READ ONLY;
SELECT gatepost.try_advisory_xact_lock('recovering/a') AS recovering;
COMMIT;
SELECT gatepost.token_generation() - :g1 > 0 AS risen_by_a_read_only_transaction;
SELECT gatepost.try_advisory_xact_lock('recovering/a') AS recovering, gatepost.try_advisory_lock('recovering/a', shared => true) AS recovering;
SELECT gatepost.token_generation() - :g1 > 0 AS risen;
SELECT gatepost.lease_status('recovering/a', :a), gatepost.try_advisory_lock('recovering/lapsed') AS recovering;
SELECT gatepost.try_advisory_xact_lock('recovering/a', '20 ms') AS waited_in_vain;
-- released, broken, or renewed and released in this boot
SELECT gatepost.lease_release('recovering/b', :b), gatepost.try_advisory_xact_lock('recovering/b') AS released;
SELECT gatepost.lease_renew('recovering/a', :a, '60 s'), gatepost.try_advisory_xact_lock('recovering/a') AS renewed;
-- lapsed: its ttl has passed since the raise
SELECT pg_temp.at(7) \g /dev/null
SELECT gatepost.try_advisory_xact_lock('recovering/lapsed') AS lapsed, gatepost.try_advisory_xact_lock('recovering/c') AS recovering;
SELECT gatepost.lease_status('recovering/lapsed', :lapsed), gatepost.lease_renew('recovering/lapsed', :lapsed);
SELECT pg_temp.at(66) \g /dev/null
SELECT gatepost.try_advisory_lock('recovering/c') AS lapsed, gatepost.lease_status('recovering/c', :c);
SELECT gatepost.lease_status('recovering/a', :a), gatepost.try_advisory_xact_lock('recovering/a') AS lapsed_too, gatepost.lease_status('recovering/a', :a);
-- superseded it stays, whatever boots come
SELECT pg_temp.at(3), pg_temp.set_clock('boot_id', 'rung_recovering third') \g /dev/null
SELECT gatepost.lease_status('recovering/c', :c), gatepost.lease_status('recovering/a', :a), gatepost.lease_renew('recovering/a', :a);
SELECT gatepost.try_advisory_xact_lock('recovering/a') AS free;
SELECT gatepost.advisory_unlock('recovering/c'), pg_temp.locks_left();
SELECT gatepost.lease_acquire('recovering/c', '1 s') > :c AS granted;
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f gatepost_test_boottime gatepost_test_boot_id';
SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'recovering/%' AND state IN ('held', 'recovering');
SELECT gatepost.lease_purge('0', 'recovering/') > 0 AS purged;
