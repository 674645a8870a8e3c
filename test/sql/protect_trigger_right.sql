-- Whoever may make triggers on a protected table, and does not own it, cannot replace the fence's or forge one.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
CREATE ROLE regress_gatepost_owner;
CREATE ROLE regress_gatepost_writer;
GRANT CREATE, USAGE ON SCHEMA public TO regress_gatepost_owner, regress_gatepost_writer;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_owner, regress_gatepost_writer;
GRANT EXECUTE ON FUNCTION gatepost.fence_protect, gatepost.fence_by_lease TO regress_gatepost_owner, regress_gatepost_writer;
SET ROLE regress_gatepost_owner;
CREATE TABLE report (id int, body text);
CREATE TABLE orders (id int, fence bigint) PARTITION BY LIST (id);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (1);
GRANT ALL ON report, orders, orders_1 TO regress_gatepost_writer;
SELECT gatepost.fence_protect('report', 'nightly'), gatepost.fence_protect('orders', 'order:{id}');
SET ROLE regress_gatepost_writer;
CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
SELECT pg_temp.try('CREATE OR REPLACE TRIGGER zz_gatepost_fence BEFORE INSERT ON report FOR EACH STATEMENT EXECUTE FUNCTION pass()');
SELECT pg_temp.try(format('CREATE OR REPLACE TRIGGER %I AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION pass()',
  (SELECT tgname FROM pg_trigger WHERE tgrelid = 'orders'::regclass AND tgname LIKE '%rows%'))) LIKE '42501 must be owner of table orders';
SELECT pg_temp.try('CREATE OR REPLACE TRIGGER zz_gatepost_fence BEFORE TRUNCATE ON orders_1 FOR EACH STATEMENT EXECUTE FUNCTION pass()');
SELECT pg_temp.try('CREATE TRIGGER a BEFORE TRUNCATE ON report FOR EACH STATEMENT EXECUTE FUNCTION gatepost.fence_by_lease(''x'')');
SELECT pg_temp.try('CREATE TRIGGER zz_gatepost_fence_row BEFORE INSERT ON report FOR EACH ROW EXECUTE FUNCTION pass()');
-- any other, as before
SELECT pg_temp.try('CREATE OR REPLACE TRIGGER mine AFTER INSERT ON report FOR EACH STATEMENT EXECUTE FUNCTION pass()');
SELECT pg_temp.try('INSERT INTO report VALUES (1)'), pg_temp.try('INSERT INTO orders VALUES (1)'), pg_temp.try('TRUNCATE orders_1');
-- the owner
SET ROLE regress_gatepost_owner;
SELECT pg_temp.try('CREATE TRIGGER zz_gatepost_fence_own BEFORE INSERT ON report FOR EACH STATEMENT EXECUTE FUNCTION gatepost.fence_by_lease(''nightly'')');
RESET ROLE;
DROP OWNED BY regress_gatepost_writer, regress_gatepost_owner;
DROP ROLE regress_gatepost_writer, regress_gatepost_owner;
