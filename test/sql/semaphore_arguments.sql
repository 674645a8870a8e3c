-- Arguments of the calls about semaphores: errors that name the argument, and nothing taken.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

SELECT call, pg_temp.ask('SELECT gatepost.' || call) FROM (VALUES
  (1, 'semaphore_acquire(NULL, 2, ''1 min'')'),
  (2, 'semaphore_acquire('''', 2, ''1 min'')'),
  (3, 'semaphore_acquire(repeat(''x'', 1025), 2, ''1 min'')'),
  (4, 'semaphore_acquire(''args'', NULL, ''1 min'')'),
  (5, 'semaphore_acquire(''args'', 0, ''1 min'')'),
  (6, 'semaphore_acquire(''args'', -1, ''1 min'')'),
  (7, 'semaphore_acquire(''args'', 10001, ''1 min'')'),
  (8, 'semaphore_acquire(''args'', 2147483647, ''1 min'')'),
  (9, 'semaphore_acquire(''args'', 2, NULL)'),
  (10, 'semaphore_acquire(''args'', 2, ''0'')'),
  (11, 'semaphore_acquire(''args'', 2, ''-1 s'')'),
  (12, 'semaphore_acquire(''args'', 2, ''1 month'')'),
  (13, 'semaphore_acquire(''args'', 2, ''2 days'')'),
  (14, 'semaphore_acquire(''args'', 2, ''1 min'', NULL)'),
  (15, 'semaphore_acquire(''args'', 2, ''1 min'', ''-1 s'')'),
  (16, 'semaphore_acquire(''args'', 2, ''1 min'', ''2 days'')'),
  (17, 'semaphore_acquire(''args'', 2, ''1 min'', ''1 month'')'),
  (18, 'semaphore_acquire(''args'', 2, ''1 min'', weight => NULL)'),
  (19, 'semaphore_acquire(''args'', 2, ''1 min'', weight => 0)'),
  (20, 'semaphore_acquire(''args'', 2, ''1 min'', weight => 3)'),
  (21, 'semaphore_acquire(''args'', 2, ''1 min'', weight => -2147483648)'),
  (22, 'semaphore_acquire(''args'', 2, ''1 min'', owner => repeat(''x'', 257))'),
  (23, 'semaphore_acquire(''args'', 2, ''1 min'', metadata => ''[1]'')'),
  (24, 'semaphore_acquire(''args'', 2, ''1 min'', request_id => ''00000000-0000-0000-0000-000000000000'')'),
  (30, 'semaphore_resize(NULL, 2)'),
  (31, 'semaphore_resize(''args'', NULL)'),
  (32, 'semaphore_resize(''args'', 0)'),
  (33, 'semaphore_resize(''args'', 10001)'),
  (34, 'semaphore_resize(''args'', 2)')) AS v(n, call) ORDER BY n;
SELECT count(*) FROM gatepost.leases WHERE name = 'args';
SELECT count(*) FROM gatepost.semaphores WHERE name = 'args';
SELECT pg_temp.locks_left();

-- the largest and the smallest
SELECT gatepost.semaphore_acquire('args', 10000, '1 min', weight => 10000) > 0;
SELECT gatepost.semaphore_acquire('args', 10000, '1 min');
SELECT * FROM gatepost.semaphores WHERE name = 'args';
SELECT gatepost.lease_break('args') > 0;
SELECT gatepost.semaphore_resize('args', 1), gatepost.semaphore_resize('args', 1);
SELECT gatepost.semaphore_acquire('args', 1, '1 min') > 0, gatepost.semaphore_acquire('args', 1, '1 min');

-- another number than the one that is stored
SELECT pg_temp.ask('SELECT gatepost.semaphore_acquire(''args'', 2, ''1 min'')');
SELECT gatepost.lease_break('args') > 0;
SELECT pg_temp.ask('SELECT gatepost.semaphore_acquire(''args'', 2, ''1 min'')');

-- a lease call on a semaphore's name, and the reverse
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''args'', ''1 min'')');
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''args'', ''1 min'', ''1 s'')');
SELECT pg_temp.ask('SELECT gatepost.lease_acquire_all(ARRAY[''args/free'', ''args''], ''1 min'')');
SELECT pg_temp.ask('SELECT gatepost.lease_queue(''args'', ''00000000-0000-0000-0000-000000000001'', ''1 min'', ''1 min'')');
SELECT count(*) FROM gatepost.leases WHERE name = 'args/free';
SELECT gatepost.lease_acquire('args/lease', '1 min') > 0;
SELECT pg_temp.ask('SELECT gatepost.semaphore_acquire(''args/lease'', 2, ''1 min'')');
SELECT pg_temp.ask('SELECT gatepost.semaphore_resize(''args/lease'', 2)');
SELECT gatepost.lease_break('args/lease') > 0;
SELECT pg_temp.ask('SELECT gatepost.semaphore_acquire(''args/lease'', 2, ''1 min'')');
-- purged, the name can be of the other kind
SELECT gatepost.lease_purge('0', 'args');
SELECT gatepost.semaphore_acquire('args/lease', 2, '1 min') > 0, gatepost.lease_acquire('args', '1 min') > 0;
SELECT gatepost.lease_break('args/lease') > 0, gatepost.lease_break('args') > 0, gatepost.lease_purge('0', 'args');

-- where changing calls are refused
BEGIN READ ONLY;
SELECT pg_temp.ask('SELECT gatepost.semaphore_acquire(''args'', 2, ''1 min'')');
SELECT pg_temp.ask('SELECT gatepost.semaphore_resize(''args'', 2)');
ROLLBACK;
BEGIN;
SELECT gatepost.semaphore_acquire('args', 2, '1 min') > 0;
PREPARE TRANSACTION 'args';
SELECT count(*) FROM gatepost.semaphores WHERE name = 'args';
SELECT pg_temp.locks_left();
