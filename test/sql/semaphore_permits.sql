-- Permits as far as one session can show them: weights, states, tokens, resize, request ids, uses, purge.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
\set show 'SELECT slot, kind, state FROM gatepost.leases WHERE name = ''sem'' ORDER BY slot; SELECT * FROM gatepost.semaphores WHERE name = ''sem'''

-- a token of no permit, older than all
SELECT gatepost.token_draw() AS stranger \gset
-- three permits, each with its token; no fourth
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', owner => 'one', metadata => '{"n": 1}') AS a \gset
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS b \gset
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS c \gset
SELECT :a < :b AND :b < :c;
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') IS NULL;
:show;
SELECT owner, metadata, ttl, token = :a FROM gatepost.leases WHERE name = 'sem' AND slot = 1;

-- each by its own token, and no other
SELECT gatepost.lease_renew('sem', :b), gatepost.lease_renew('sem', :b, '2 h'), gatepost.lease_renew('sem', :stranger);
SELECT ttl FROM gatepost.leases WHERE name = 'sem' ORDER BY slot;
SELECT gatepost.lease_release('sem', :b), gatepost.lease_release('sem', :b), gatepost.lease_renew('sem', :b);
SELECT gatepost.lease_status('sem', :a), gatepost.lease_status('sem', :b), gatepost.lease_status('sem', :c);
-- the slot that is free is taken
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS d \gset
:show;
SELECT gatepost.lease_status('sem', :b), gatepost.lease_status('sem', :d), gatepost.lease_status('sem', 1);
SELECT gatepost.lease_release('sem', :b), gatepost.lease_renew('sem', :b);
SELECT * FROM gatepost.semaphores WHERE name = 'sem';

-- many at once; a request to yield goes to each that is live
SELECT gatepost.lease_request_yield('sem');
SELECT token = :c, status, detail FROM gatepost.lease_renew_many(ARRAY['sem', 'sem', 'sem'], ARRAY[:a, :b, :c]) ORDER BY token;
SELECT token = :d, status FROM gatepost.lease_renew_many('{sem}', ARRAY[:d]);
SELECT slot, yield_requested FROM gatepost.leases WHERE name = 'sem' ORDER BY slot;
SELECT gatepost.lease_acquire('sem2', '1 h') IS NOT NULL, status, detail FROM gatepost.lease_release_many('{sem}', ARRAY[:stranger]);
SELECT gatepost.lease_break('sem2') > 0;

-- one broken, by its token; all broken
SELECT gatepost.lease_break('sem', :b);
SELECT gatepost.lease_break('sem', :a, 'too slow') > :d;
SELECT gatepost.lease_status('sem', :a), gatepost.lease_status('sem', :c), gatepost.lease_status('sem', :d);
SELECT gatepost.lease_break('sem') > :d, gatepost.lease_break('sem');
:show;

-- weights: a permit of several is one row, one token
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', weight => 2) AS heavy \gset
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', weight => 2) IS NULL;
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS light \gset
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') IS NULL;
:show;
SELECT gatepost.lease_renew('sem', :heavy), gatepost.lease_release('sem', :light), gatepost.semaphore_acquire('sem', 3, '1 h', weight => 2) IS NULL;
-- a light one is free above the first slot only: what is heavy counts all the same
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS light \gset
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') IS NULL, gatepost.lease_release('sem', :heavy);
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', weight => 3) IS NULL, gatepost.semaphore_acquire('sem', 3, '1 h', weight => 2) > :light;
SELECT * FROM gatepost.semaphores WHERE name = 'sem';
SELECT gatepost.lease_break('sem') > 0;
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', weight => 3) > 0, gatepost.semaphore_acquire('sem', 3, '1 h') IS NULL;
SELECT gatepost.lease_break('sem') > 0;
-- slots 2 and 3 live, slot 1 free, and two more taken by a heavy one
SELECT gatepost.semaphore_resize('sem', 4);
SELECT gatepost.semaphore_acquire('sem', 4, '1 h') AS a, gatepost.semaphore_acquire('sem', 4, '1 h') AS b, gatepost.semaphore_acquire('sem', 4, '1 h') AS c \gset
SELECT gatepost.lease_release('sem', :a), gatepost.semaphore_acquire('sem', 4, '1 h', weight => 2) AS heavy \gset
SELECT gatepost.semaphore_acquire('sem', 4, '1 h') IS NULL;
SELECT * FROM gatepost.semaphores WHERE name = 'sem';
SELECT gatepost.lease_break('sem') > 0;

-- resized downwards holders drain; upwards there are more at once
SELECT gatepost.semaphore_acquire('sem', 4, '1 h') AS a, gatepost.semaphore_acquire('sem', 4, '1 h') AS b, gatepost.semaphore_acquire('sem', 4, '1 h') AS c \gset
SELECT gatepost.semaphore_resize('sem', 2), gatepost.semaphore_resize('sem', 2);
SELECT * FROM gatepost.semaphores WHERE name = 'sem';
SELECT pg_temp.ask('SELECT gatepost.semaphore_acquire(''sem'', 4, ''1 h'')');
SELECT gatepost.lease_renew('sem', :c), gatepost.semaphore_acquire('sem', 2, '1 h') IS NULL, gatepost.lease_release('sem', :a);
-- slot 1 is free, and slots 2 and 3 are two
SELECT gatepost.semaphore_acquire('sem', 2, '1 h') IS NULL, gatepost.lease_release('sem', :b);
SELECT gatepost.semaphore_acquire('sem', 2, '1 h') AS d \gset
SELECT gatepost.semaphore_acquire('sem', 2, '1 h') IS NULL;
:show;
SELECT gatepost.semaphore_resize('sem', 3), gatepost.semaphore_acquire('sem', 3, '1 h') > :d, gatepost.semaphore_acquire('sem', 3, '1 h') IS NULL;
SELECT gatepost.lease_break('sem') > 0;
-- undone with its transaction
BEGIN;
SELECT gatepost.semaphore_resize('sem', 1), gatepost.semaphore_acquire('sem', 1, '1 h') > 0, gatepost.semaphore_acquire('sem', 1, '1 h') IS NULL;
ROLLBACK;
SELECT * FROM gatepost.semaphores WHERE name = 'sem';

-- asked again with the same request id
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', request_id => '00000000-0000-0000-0000-000000000001') AS a \gset
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', request_id => '00000000-0000-0000-0000-000000000001') = :a;
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS b, gatepost.semaphore_acquire('sem', 3, '1 h') AS c \gset
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', request_id => '00000000-0000-0000-0000-000000000001') = :a,
       gatepost.semaphore_acquire('sem', 3, '1 h', request_id => '00000000-0000-0000-0000-000000000002') IS NULL;
SELECT gatepost.lease_release('sem', :a), gatepost.semaphore_acquire('sem', 3, '1 h', request_id => '00000000-0000-0000-0000-000000000001') > :c;
-- not where it is behind a free slot
SELECT gatepost.lease_release('sem', :b), gatepost.semaphore_acquire('sem', 3, '1 h', request_id => '00000000-0000-0000-0000-000000000003') AS d \gset
SELECT gatepost.lease_break('sem', token) > 0 FROM gatepost.leases WHERE name = 'sem' AND slot = 1;
SELECT gatepost.semaphore_acquire('sem', 3, '1 h', request_id => '00000000-0000-0000-0000-000000000003') = :d;
SELECT gatepost.lease_break('sem') > 0;

-- lapsed
SELECT gatepost.semaphore_acquire('sem', 3, '1 ms', weight => 2) AS short, gatepost.semaphore_acquire('sem', 3, '1 h') AS a \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''sem'', $1) = ''lapsed''', :short);
SELECT * FROM gatepost.semaphores WHERE name = 'sem';
SELECT gatepost.lease_renew('sem', :short), gatepost.semaphore_acquire('sem', 3, '1 h', weight => 2) > :a, gatepost.lease_release('sem', :a);
SELECT gatepost.lease_break('sem') > 0;

-- uses: several permits in one transaction, errors of their own
CREATE TABLE work (id int);
SELECT gatepost.fence_protect('work', lease => 'sem');
SELECT token AS old FROM gatepost.leases WHERE name = 'sem' AND slot = 1 \gset
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS a, gatepost.semaphore_acquire('sem', 3, '1 h') AS b \gset
\set write 'SELECT pg_temp.try(''INSERT INTO work VALUES (1)'')'
BEGIN; SELECT gatepost.fence_use('sem', :a); :write; SELECT gatepost.fence_use('sem', :b), gatepost.fence_use('sem', :a, live => true); :write; COMMIT;
:write;
SELECT replace(pg_temp.try('SELECT gatepost.fence_use(''sem'', $1)', :old), :'old', 'OLD');
SELECT replace(pg_temp.detail('SELECT gatepost.fence_use(''sem'', $1)', :old), :'b', 'TOKEN OF B');
SELECT gatepost.token_draw() AS later \gset
SELECT replace(pg_temp.try('SELECT gatepost.fence_use(''sem'', $1)', :later), :'later', 'LATER');
SELECT gatepost.lease_release('sem', :a);
SELECT replace(pg_temp.try('SELECT gatepost.fence_use(''sem'', $1)', :a), :'a', 'A');
SELECT pg_temp.detail('SELECT gatepost.fence_use(''sem'', $1)', :a);
-- an own grant ends the use of the token it supersedes, and no other
BEGIN;
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS c \gset
SELECT gatepost.fence_use('sem', :c), gatepost.lease_release('sem', :c);
:write;
SAVEPOINT s;
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') > :c;
:write;
ROLLBACK TO s;
:write;
SELECT gatepost.fence_use('sem', :b);
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') > :c;
:write;
ROLLBACK;

-- purge: what has ended goes; the limit stays until nothing else is left
SELECT gatepost.lease_purge('0', 'sem');
:show;
SELECT gatepost.semaphore_acquire('sem', 3, '1 h') AS c \gset
SELECT gatepost.lease_release('sem', :b), gatepost.lease_purge('1 h', 'sem'), gatepost.lease_purge('0', 'sem');
:show;
SELECT gatepost.lease_status('sem', :b), gatepost.lease_renew('sem', :c), gatepost.lease_release('sem', :c), gatepost.lease_purge('0', 'sem');
:show;
SELECT gatepost.lease_status('sem', :c);
DROP TABLE work;

-- who comes late gives nobody else's permit back, however often he tries
SELECT gatepost.semaphore_acquire('one', 1, '1 ms') AS late \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''one'', $1) = ''lapsed''', :late);
SELECT permits, live, free FROM gatepost.semaphores WHERE name = 'one';
SELECT gatepost.semaphore_acquire('one', 1, '1 h') AS next \gset
SELECT gatepost.lease_release('one', :late), gatepost.lease_release('one', :late), gatepost.lease_renew('one', :late);
SELECT gatepost.semaphore_acquire('one', 1, '1 h') IS NULL, gatepost.lease_renew('one', :next);
SELECT permits, live, free FROM gatepost.semaphores WHERE name = 'one';
SELECT gatepost.lease_release('one', :next), gatepost.lease_purge('0', 'one');
SELECT pg_temp.locks_left();
