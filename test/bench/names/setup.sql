CREATE EXTENSION gatepost;
\ir ../hand_lease.sql
\set names 1000
\ir ../fill.sql
CREATE DATABASE million;
\connect million
CREATE EXTENSION gatepost;
\ir ../hand_lease.sql
\set names 1000000
\ir ../fill.sql
