CREATE EXTENSION gatepost;
-- Two names, free, each with a token that has been superseded.
CREATE TABLE stale AS SELECT n, 'name ' || n AS name, gatepost.lease_acquire('name ' || n, '1 h') AS token
FROM generate_series(1, 2) n;
SELECT gatepost.lease_release(name, gatepost.lease_break(name)) FROM stale;

CREATE FUNCTION try_stale(which int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM gatepost.fence_use(name, token) FROM stale WHERE n = which;
    RETURN true;
EXCEPTION WHEN SQLSTATE 'LG001' OR SQLSTATE 'LG002' THEN
    RETURN false;
END $$;

-- Counts grants only: who is refused tries again.
CREATE FUNCTION grant_and_release() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    token bigint;
BEGIN
    LOOP
        token := gatepost.lease_acquire('name 1', '1 h');
        EXIT WHEN token IS NOT NULL;
    END LOOP;
    RETURN gatepost.lease_release('name 1', token);
END $$;
