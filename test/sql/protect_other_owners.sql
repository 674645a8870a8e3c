-- What is below a protected table and belongs to another role keeps its protection, whatever the owner of what is above
-- it parts or links.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
CREATE ROLE regress_gatepost_above;
CREATE ROLE regress_gatepost_below;
GRANT CREATE, USAGE ON SCHEMA public TO regress_gatepost_above, regress_gatepost_below;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_above;
GRANT EXECUTE ON FUNCTION gatepost.fence_protect, gatepost.fence_by_lease TO regress_gatepost_above;
SET ROLE regress_gatepost_above;
CREATE TABLE p (id int, fence bigint) PARTITION BY LIST (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
CREATE TABLE g (id int);
CREATE TABLE c () INHERITS (g);
INSERT INTO c VALUES (1);
SELECT gatepost.fence_protect('p', 'o:{id}'), gatepost.fence_protect('g', 'nightly');
RESET ROLE;
ALTER TABLE p1 OWNER TO regress_gatepost_below;
ALTER TABLE p2 OWNER TO regress_gatepost_below;
ALTER TABLE c OWNER TO regress_gatepost_below;

-- parted: the server takes the clones of row triggers away
SET ROLE regress_gatepost_above;
ALTER TABLE p DETACH PARTITION p1;
ALTER TABLE p DETACH PARTITION p2 CONCURRENTLY;
SET ROLE regress_gatepost_below;
SELECT pg_temp.try('INSERT INTO p1 VALUES (1)'), pg_temp.try('INSERT INTO p2 VALUES (2)');
-- linked: rows of c come through a table that is not protected
SET ROLE regress_gatepost_above;
CREATE TABLE above (id int);
ALTER TABLE g INHERIT above;
SELECT pg_temp.try('UPDATE above SET id = 2'), pg_temp.try('DELETE FROM above');
-- a fence above that does not shut, since it is disabled or for other statements only
RESET ROLE;
ALTER TABLE c NO INHERIT g;
SET ROLE regress_gatepost_above;
CREATE TABLE weak (id int);
CREATE TRIGGER weak BEFORE TRUNCATE ON weak FOR EACH STATEMENT EXECUTE FUNCTION gatepost.fence_by_lease('nightly');
RESET ROLE;
ALTER TABLE c INHERIT weak;
SELECT pg_temp.try('UPDATE weak SET id = 2');
ALTER TABLE c NO INHERIT weak;
ALTER TABLE g NO INHERIT above;
ALTER TABLE c INHERIT g;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'c'::regclass;
ALTER TABLE g DISABLE TRIGGER zz_gatepost_fence;
SELECT relation, guarded, gaps FROM gatepost.fenced_tables WHERE relation IN ('g'::regclass, 'c'::regclass) ORDER BY relation::text;
ALTER TABLE g ENABLE ALWAYS TRIGGER zz_gatepost_fence;
RESET ROLE;
SELECT relation, guarded, gaps FROM gatepost.fenced_tables ORDER BY relation::text;
DROP OWNED BY regress_gatepost_above, regress_gatepost_below CASCADE;
DROP ROLE regress_gatepost_above, regress_gatepost_below;
