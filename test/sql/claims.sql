-- Claims: each key of a resource once, under a token that is not stale.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.token_draw() AS t1 \gset
SELECT gatepost.token_draw() AS t2 \gset
SELECT gatepost.token_draw() AS t3 \gset

-- once for each key, whoever asks again
SELECT gatepost.fence_claim('claim/a', 'one', :t2) AS first, gatepost.fence_claim('claim/a', 'one', :t2) AS again,
       gatepost.fence_claim('claim/a', 'two', :t2) AS other, gatepost.fence_mark('claim/a') = :t2 AS mark;
SELECT gatepost.fence_claim('claim/a', 'one', :t3) AS again_later, gatepost.fence_mark('claim/a') = :t3 AS advanced;
SELECT gatepost.fence_claim('claim/b', 'one', :t2) AS other_resource, gatepost.fence_claim('claim/a', 'One', :t3) AS by_bytes;
SELECT gatepost.fence_claim(repeat('r', 1024), repeat('k', 1024), :t1) AS longest, gatepost.fence_claim(repeat('r', 1024), repeat('k', 1024), :t1) AS again;
-- stale: an error that takes the transaction along, repetition or not
SELECT regexp_replace(pg_temp.ask('SELECT gatepost.fence_claim(''claim/a'', ''three'', $1)', :t2), '\d{10,}', 'N', 'g'),
       left(pg_temp.ask('SELECT gatepost.fence_claim(''claim/a'', ''one'', $1)', :t2), 5);
SELECT pg_temp.detail('SELECT gatepost.fence_claim(''claim/a'', ''three'', $1)', :t2)
       = format('Token %s is older than %s, the mark of resource "claim/a".', :t2, :t3) AS detail;
SELECT gatepost.fence_claim('claim/a', 'three', :t3) AS not_yet_claimed;
-- tokens of another system
SELECT gatepost.fence_claim('claim/zxid', 'one', 5, 'any'), gatepost.fence_claim('claim/zxid', 'one', 5, 'any'), gatepost.fence_claim('claim/zxid', 'two', 9223372036854775807, 'any');
SELECT pg_temp.ask('SELECT gatepost.fence_claim(''claim/zxid'', ''three'', 6, ''any'')');
SELECT pg_temp.ask('SELECT gatepost.fence_claim(''claim/zxid'', ''three'', $1)', :t3);

-- bad input claims nothing
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
SELECT c, pg_temp.ask('SELECT gatepost.' || c, :t3) FROM unnest(ARRAY[
  'fence_claim(NULL, ''k'', $1)', 'fence_claim(''claim/a'', NULL, $1)', 'fence_claim(''claim/a'', ''k'', NULL)', 'fence_claim(''claim/a'', ''k'', $1, NULL)',
  'fence_claim('''', ''k'', $1)', 'fence_claim(''claim/a'', '''', $1)', 'fence_claim(''claim/a'', repeat(''x'', 1025), $1)',
  'fence_claim(repeat(''x'', 1025), ''k'', $1)', 'fence_claim(''claim/a'', ''k'', 0)', 'fence_claim(''claim/a'', ''k'', $1, ''nobody'')',
  'fence_purge(NULL)', 'fence_purge(''0'', NULL)', 'fence_purge(''-1 s'')', 'fence_purge(''1 month'')']) WITH ORDINALITY AS u(c, n) ORDER BY n;
SELECT left(pg_temp.ask('SELECT gatepost.fence_claim(''claim/a'', ''k'', 9007199254740991)'), 5);
\pset format aligned
\pset tuples_only off
SELECT count(*) FROM gatepost.claims WHERE key = 'k' OR resource = '';

-- rolled back, it can be claimed again
BEGIN;
SELECT gatepost.fence_claim('claim/c', 'one', :t3);
SAVEPOINT one;
SELECT gatepost.fence_claim('claim/c', 'two', :t3) AS first, gatepost.fence_claim('claim/c', 'two', :t3) AS again;
ROLLBACK TO one;
SELECT gatepost.fence_claim('claim/c', 'two', :t3) AS again_first;
ROLLBACK;
SELECT gatepost.fence_claim('claim/c', 'one', :t3) AS first;
-- a repetition with an equal token writes nothing
BEGIN;
SELECT gatepost.fence_claim('claim/c', 'one', :t3) AS again, pg_current_xact_id_if_assigned() IS NULL AS no_xid, pg_temp.locks_left();
COMMIT;

-- purged by age and prefix; marks stay, and go on refusing
SELECT gatepost.fence_purge('1 h') AS none_so_old;
SELECT gatepost.fence_purge('0', 'claim/c') AS purged, gatepost.fence_claim('claim/c', 'one', :t3) AS claimed_anew;
SELECT gatepost.fence_purge('0', 'claim/_') AS no_pattern, gatepost.fence_purge('1000000 days') AS before_all_time;
SELECT gatepost.fence_purge('0', 'claim/') > 0 AS purged, gatepost.fence_mark('claim/a') = :t3 AS mark_stays;
SELECT left(pg_temp.ask('SELECT gatepost.fence_claim(''claim/a'', ''one'', $1)', :t1), 5) AS stale;
-- at most 10,000 a call
SELECT count(*) FROM generate_series(1, 10003) AS n WHERE gatepost.fence_claim('claim/many', n::text, :t3);
SELECT gatepost.fence_purge('0', 'claim/many') AS first, gatepost.fence_purge('0', 'claim/many') AS second, gatepost.fence_purge('0', 'claim/many') AS third;

SELECT gatepost.fence_purge('0') > 0 AS tidy, pg_temp.locks_left();
