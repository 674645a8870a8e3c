-- Protection: what becomes of each write, kind lease.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\set writes :srcdir '/writes.sql'
\i :writes
\pset format unaligned
\pset fieldsep ' | '

SELECT pg_temp.make_tables('lease');
SELECT * FROM pg_temp.cells('lease');

DROP SCHEMA lease CASCADE;
