\ir names.sql
CREATE DATABASE unwoken;
\connect unwoken
\ir names.sql
-- The same with another library, see run.sh.
UPDATE pg_proc SET probin = '$libdir/gatepost_unwoken' WHERE probin = '$libdir/gatepost';
