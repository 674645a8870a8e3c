-- Bad arguments: each is an error with its SQLSTATE that names the argument, and changes nothing.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.lease_acquire('arguments', '10 min', metadata => '{"a": 1}') AS token \gset
CREATE TEMP VIEW everything AS
SELECT name, slot, state, token, owner, acquired_at, renewed_at, ttl, metadata::text FROM gatepost.leases;
CREATE TEMP TABLE before AS SELECT * FROM everything;

\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

-- $1 is the live token
CREATE FUNCTION pg_temp.each(calls text[], token bigint, OUT call text, OUT answer text) RETURNS SETOF record
LANGUAGE sql AS $$
  SELECT c, pg_temp.ask('SELECT gatepost.' || c, token) FROM unnest(calls) WITH ORDINALITY AS u(c, n) ORDER BY n
$$;

SELECT * FROM pg_temp.each(ARRAY[
  $$lease_acquire(NULL, '10 s')$$,
  $$lease_acquire('', '10 s')$$,
  $$lease_acquire(repeat('x', 1025), '10 s')$$,
  $$lease_acquire('new', NULL)$$,
  $$lease_acquire('new', '0')$$,
  $$lease_acquire('new', '-5 s')$$,
  $$lease_acquire('new', '-1 microsecond')$$,
  $$lease_acquire('new', '1 mon')$$,
  $$lease_acquire('new', '1 mon -40 days')$$,
  $$lease_acquire('new', '1 year')$$,
  $$lease_acquire('new', '-1 mon 60 days')$$,
  $$lease_acquire('new', '1 day 1 s')$$,
  $$lease_acquire('new', '2147483647 days')$$,
  $$lease_acquire('new', '2147483647 days 2562047788:00:54')$$,
  $$lease_acquire('new', '-2147483648 days -2562047788:00:54')$$,
  $$lease_acquire('new', '10 s', NULL)$$,
  $$lease_acquire('new', '10 s', '-1 s')$$,
  $$lease_acquire('new', '10 s', '24 hours 1 microsecond')$$,
  $$lease_acquire('new', '10 s', '1 mon')$$,
  $$lease_acquire('new', '10 s', owner => repeat('x', 257))$$,
  $$lease_acquire('new', '10 s', metadata => '[1, 2]')$$,
  $$lease_acquire('new', '10 s', metadata => '"text"')$$,
  $$lease_acquire('new', '10 s', metadata => 'null')$$,
  $$lease_acquire('new', '10 s', metadata => '1')$$,
  $$lease_acquire('new', '10 s', metadata => jsonb_build_object('a', repeat('x', 8192)))$$,
  $$lease_acquire('new', '10 s', request_id => 'no uuid')$$,
  $$lease_acquire('new', '10 s', request_id => '00000000-0000-0000-0000-000000000000')$$], :token);

SELECT * FROM pg_temp.each(ARRAY[
  $$lease_renew(NULL, $1)$$,
  $$lease_renew('', $1)$$,
  $$lease_renew(repeat('x', 1025), $1)$$,
  $$lease_renew('arguments', NULL)$$,
  $$lease_renew('arguments', 0)$$,
  $$lease_renew('arguments', -1)$$,
  $$lease_renew('arguments', 9007199254740992)$$,
  $$lease_renew('arguments', 9223372036854775807)$$,
  $$lease_renew('arguments', -9223372036854775808)$$,
  $$lease_renew('arguments', $1, '0')$$,
  $$lease_renew('arguments', $1, '-1 s')$$,
  $$lease_renew('arguments', $1, '1 mon')$$,
  $$lease_renew('arguments', $1, '1 day 1 s')$$], :token);

SELECT * FROM pg_temp.each(ARRAY[
  $$lease_release(NULL, $1)$$,
  $$lease_release('', $1)$$,
  $$lease_release(repeat('x', 1025), $1)$$,
  $$lease_release('arguments', NULL)$$,
  $$lease_release('arguments', 0)$$,
  $$lease_release('arguments', -1)$$,
  $$lease_release('arguments', 9007199254740992)$$,
  $$lease_status(NULL, $1)$$,
  $$lease_status('', $1)$$,
  $$lease_status(repeat('x', 1025), $1)$$,
  $$lease_status('arguments', NULL)$$,
  $$lease_status('arguments', 0)$$,
  $$lease_status('arguments', -1)$$,
  $$lease_status('arguments', 9007199254740992)$$,
  $$lease_break(NULL)$$,
  $$lease_break('')$$,
  $$lease_break(repeat('x', 1025))$$,
  $$lease_break('arguments', 0)$$,
  $$lease_break('arguments', -1)$$,
  $$lease_break('arguments', 9007199254740992)$$,
  $$lease_purge(NULL)$$,
  $$lease_purge('-1 s')$$,
  $$lease_purge('1 day', NULL)$$,
  $$token_raise_generation(0)$$,
  $$token_raise_generation(-1)$$,
  $$token_raise_generation(9007199254740992)$$], :token);

-- a token in range that was never drawn here; the largest one there can be is such a token
SELECT * FROM pg_temp.each(ARRAY[
  $$lease_renew('arguments', 9007199254740991)$$,
  $$lease_release('arguments', 9007199254740991)$$,
  $$lease_status('arguments', 9007199254740991)$$,
  $$lease_break('arguments', 9007199254740991)$$], :token);
-- a microsecond over the cap is over it
SELECT left(pg_temp.ask('SELECT gatepost.lease_acquire(''new'', ''1 day 1 microsecond'')'), 5),
       left(pg_temp.ask('SELECT gatepost.lease_renew(''arguments'', $1, ''1 day 1 microsecond'')', :token), 5);

-- an infinite ttl: no interval before 17, refused since
SELECT left(pg_temp.ask('SELECT gatepost.lease_acquire(''new'', ''infinity'')'), 5) IN ('22007', '22023'),
       left(pg_temp.ask('SELECT gatepost.lease_renew(''arguments'', $1, ''infinity'')', :token), 5) IN ('22007', '22023'),
       left(pg_temp.ask('SELECT gatepost.lease_acquire(''new'', ''10 s'', ''infinity'')'), 5) IN ('22007', '22023'),
       left(pg_temp.ask('SELECT gatepost.lease_purge(''infinity'')'), 5) IN ('22007', '22023');

-- the same as plain statements: the session goes on
SELECT gatepost.lease_acquire(NULL, '10 s');
\echo :LAST_ERROR_SQLSTATE
SELECT gatepost.lease_renew('arguments', :token, '-1 s');
\echo :LAST_ERROR_SQLSTATE

-- nothing has changed, and nothing is left locked
SELECT count(*) FROM (TABLE everything EXCEPT TABLE before UNION ALL (TABLE before EXCEPT TABLE everything)) AS changed;
SELECT pg_temp.locks_left();
SELECT gatepost.lease_acquire('arguments', '10 s') IS NULL AS still_held, gatepost.lease_renew('arguments', :token);

-- the largest of everything is taken
SELECT gatepost.lease_acquire(repeat('x', 1024), '1 day', '0', repeat('o', 256),
         jsonb_build_object('a', repeat('m', 8000)), 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS big \gset
SELECT length(name), length(owner), length(metadata ->> 'a'), state FROM gatepost.leases WHERE token = :big;
SELECT gatepost.lease_release(repeat('x', 1024), :big), gatepost.lease_release('arguments', :token);
SELECT gatepost.lease_purge('0', repeat('x', 1024)), gatepost.lease_purge('0', 'arguments');
