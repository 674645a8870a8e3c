-- A request that is asked again with another weight is not told that it has that.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\set request '00000000-0000-0000-0000-000000000001'
SELECT gatepost.semaphore_acquire('weighed', 3, '1 h', request_id => :'request') AS a \gset
SELECT pg_temp.ask(format('SELECT gatepost.semaphore_acquire(''weighed'', 3, ''1 h'', weight => 3, request_id => %L)', :'request'));
SELECT gatepost.semaphore_acquire('weighed', 3, '1 h', request_id => :'request') = :a;
SELECT permits, live, free FROM gatepost.semaphores WHERE name = 'weighed';
SELECT gatepost.lease_release('weighed', :a), gatepost.lease_purge('0', 'weighed');
SELECT pg_temp.locks_left();
\set ECHO none
