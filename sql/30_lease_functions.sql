CREATE FUNCTION gatepost.lease_acquire(
    name pg_catalog.text,
    ttl pg_catalog.interval,
    wait pg_catalog.interval DEFAULT '0',
    owner pg_catalog.text DEFAULT NULL,
    metadata pg_catalog.jsonb DEFAULT NULL,
    request_id pg_catalog.uuid DEFAULT NULL
) RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_acquire';
COMMENT ON FUNCTION gatepost.lease_acquire(pg_catalog.text, pg_catalog.interval, pg_catalog.interval, pg_catalog.text, pg_catalog.jsonb, pg_catalog.uuid) IS
    'Takes the lease of a name for ttl; returns its fencing token, or NULL when the name is busy';

CREATE PROCEDURE gatepost.lease_acquire_wait(
    name pg_catalog.text,
    ttl pg_catalog.interval,
    wait pg_catalog.interval,
    owner pg_catalog.text DEFAULT NULL,
    metadata pg_catalog.jsonb DEFAULT NULL,
    request_id pg_catalog.uuid DEFAULT NULL,
    INOUT token pg_catalog.int8 DEFAULT NULL
) LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_lease_acquire_wait';
COMMENT ON PROCEDURE gatepost.lease_acquire_wait(pg_catalog.text, pg_catalog.interval, pg_catalog.interval, pg_catalog.text, pg_catalog.jsonb, pg_catalog.uuid, pg_catalog.int8) IS
    'lease_acquire that keeps no snapshot while it waits: commits first';

CREATE FUNCTION gatepost.lease_renew(
    name pg_catalog.text,
    token pg_catalog.int8,
    ttl pg_catalog.interval DEFAULT NULL
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_renew';
COMMENT ON FUNCTION gatepost.lease_renew(pg_catalog.text, pg_catalog.int8, pg_catalog.interval) IS
    'Moves the deadline of a live lease to now + ttl; false when it is not, or no longer, the token''s';

CREATE FUNCTION gatepost.lease_release(
    name pg_catalog.text,
    token pg_catalog.int8
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_release';
COMMENT ON FUNCTION gatepost.lease_release(pg_catalog.text, pg_catalog.int8) IS
    'Gives a live lease back; false when it is not, or no longer, the token''s';

CREATE FUNCTION gatepost.lease_status(
    name pg_catalog.text,
    token pg_catalog.int8
) RETURNS pg_catalog.text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_status';
COMMENT ON FUNCTION gatepost.lease_status(pg_catalog.text, pg_catalog.int8) IS
    'What has become of a token: held, in_flight, recovering, lapsed, released, superseded, broken or unknown';

CREATE FUNCTION gatepost.lease_break(
    name pg_catalog.text,
    token pg_catalog.int8 DEFAULT NULL,
    reason pg_catalog.text DEFAULT NULL
) RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_break';
COMMENT ON FUNCTION gatepost.lease_break(pg_catalog.text, pg_catalog.int8, pg_catalog.text) IS
    'Administrators: takes a lease away from its holder; returns a token above the holder''s, or NULL when nothing was held';

CREATE FUNCTION gatepost.lease_purge(
    older_than pg_catalog.interval,
    prefix pg_catalog.text DEFAULT ''
) RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_purge';
COMMENT ON FUNCTION gatepost.lease_purge(pg_catalog.interval, pg_catalog.text) IS
    'Administrators: deletes the rows of leases that ended at least older_than ago; returns how many';
