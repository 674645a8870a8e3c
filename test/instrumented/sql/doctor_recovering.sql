-- What doctor() and the view stats say of a reboot: until a call has noticed it, and while leases are recovering.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common
CREATE DATABASE regress_doctor_recovering;
\c regress_doctor_recovering
\i :common
CREATE FUNCTION pg_temp.set_clock(file text, value text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY (SELECT %L) TO %L', value, current_setting('data_directory') || '/gatepost_test_' || file);
END $$;
CREATE FUNCTION pg_temp.at(seconds numeric) RETURNS void LANGUAGE sql AS $$ SELECT pg_temp.set_clock('boottime', trunc(seconds * 1000000)::text) $$;
CREATE FUNCTION pg_temp.found() RETURNS TABLE (severity text, detail text, fix text) LANGUAGE sql
AS $$ SELECT severity, detail, fix FROM gatepost.doctor() WHERE subject = 'tokens' $$;
SET intervalstyle = postgres;
\pset format unaligned
\pset tuples_only on

SELECT pg_temp.at(5000), pg_temp.set_clock('boot_id', 'doctor_recovering first') \g /dev/null
SELECT gatepost.lease_acquire('recovering/a', '60 s') AS a, gatepost.lease_acquire('recovering/b', '30 s') AS b \gset
SELECT * FROM pg_temp.found() WHERE severity <> 'notice';
SELECT leases_held, leases_recovering FROM gatepost.stats;

\echo -- another boot that nobody has noticed
SELECT pg_temp.at(5), pg_temp.set_clock('boot_id', 'doctor_recovering second') \g /dev/null
SELECT * FROM pg_temp.found() WHERE detail NOT LIKE '%ahead of the hours%';
SELECT leases_held, leases_recovering FROM gatepost.stats;
\echo -- noticed
SELECT gatepost.lease_acquire('recovering/a', '60 s') IS NULL;
SELECT * FROM pg_temp.found() WHERE detail NOT LIKE '%ahead of the hours%';
SELECT gatepost.lease_renew('recovering/a', :a);
SELECT leases_held, leases_recovering FROM gatepost.stats;
SELECT * FROM pg_temp.found() WHERE detail NOT LIKE '%ahead of the hours%';
\echo -- over
SELECT pg_temp.at(36) \g /dev/null
SELECT * FROM pg_temp.found() WHERE detail NOT LIKE '%ahead of the hours%';
SELECT leases_held, leases_recovering, leases_lapsed FROM gatepost.stats;

COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f gatepost_test_boottime gatepost_test_boot_id';
\c contrib_regression
DROP DATABASE regress_doctor_recovering;
