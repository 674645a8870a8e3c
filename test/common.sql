\set ECHO none
-- The head of every regress test: the extension, and helpers that live in this session only.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gatepost;
RESET client_min_messages;
-- Small numbers stand for old tokens in many tests, which they are from the first draw on.
DO $$ BEGIN PERFORM gatepost.token_draw(); END $$;

-- The first value of a query as text, or the SQLSTATE and message of its error.
CREATE FUNCTION pg_temp.ask(query text, token bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  EXECUTE query INTO answer USING token;
  RETURN coalesce(answer, '(null)');
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- The DETAIL of the error that a query ends in.
CREATE FUNCTION pg_temp.detail(query text, token bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  detail text;
BEGIN
  EXECUTE query USING token;
  RETURN '(no error)';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN detail;
END $$;

-- 'done' for a command that returns nothing, or the SQLSTATE and message of its error.
CREATE FUNCTION pg_temp.try(command text, token bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE command USING token;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- Polls a condition; fails rather than hang when it never comes true.
CREATE FUNCTION pg_temp.wait_until(condition text, token bigint DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  met boolean;
  give_up timestamptz := clock_timestamp() + interval '60 seconds';
BEGIN
  LOOP
    EXECUTE 'SELECT ' || condition INTO met USING token;
    IF met THEN
      RETURN true;
    END IF;
    IF clock_timestamp() > give_up THEN
      RAISE EXCEPTION 'waited in vain for: %', condition;
    END IF;
    PERFORM pg_sleep(0.002);
  END LOOP;
END $$;

-- Advisory locks of this session: a call that has returned must have let go of all it took.
CREATE FUNCTION pg_temp.locks_left() RETURNS bigint LANGUAGE sql AS $$
  SELECT count(*) FROM pg_catalog.pg_locks
  WHERE locktype = 'advisory' AND pid = pg_catalog.pg_backend_pid()
$$;

\set VERBOSITY terse
\set SHOW_CONTEXT never
\set ECHO all
