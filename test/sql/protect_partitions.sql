-- Protection: what becomes of each write, kind tree.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\set writes :srcdir '/writes.sql'
\i :writes
\pset format unaligned
\pset fieldsep ' | '

SELECT pg_temp.make_tables('tree');
SELECT * FROM pg_temp.cells('tree');

DROP SCHEMA tree CASCADE;
