CREATE FUNCTION gatepost.lease_queue(
    name pg_catalog.text,
    request_id pg_catalog.uuid,
    ttl pg_catalog.interval,
    stay pg_catalog.interval,
    owner pg_catalog.text DEFAULT NULL,
    metadata pg_catalog.jsonb DEFAULT NULL
) RETURNS pg_catalog.text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_queue';
COMMENT ON FUNCTION gatepost.lease_queue(pg_catalog.text, pg_catalog.uuid, pg_catalog.interval, pg_catalog.interval, pg_catalog.text, pg_catalog.jsonb) IS
    'Takes or prolongs a place in the queue of a name for who waits outside the server; returns the channel to LISTEN on';

CREATE FUNCTION gatepost.lease_unqueue(
    name pg_catalog.text,
    request_id pg_catalog.uuid
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_unqueue';
COMMENT ON FUNCTION gatepost.lease_unqueue(pg_catalog.text, pg_catalog.uuid) IS
    'Gives a place up that lease_queue has taken; false when there is none';

CREATE FUNCTION gatepost.lease_transfer(
    name pg_catalog.text,
    token pg_catalog.int8,
    to_request_id pg_catalog.uuid
) RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_transfer';
COMMENT ON FUNCTION gatepost.lease_transfer(pg_catalog.text, pg_catalog.int8, pg_catalog.uuid) IS
    'Hands a live lease to a request with a place in the queue; returns the request''s token, or NULL when nothing was handed over';

CREATE FUNCTION gatepost.lease_watch(
    name pg_catalog.text
) RETURNS pg_catalog.text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_watch';
COMMENT ON FUNCTION gatepost.lease_watch(pg_catalog.text) IS
    'For 5 minutes from now on a NOTIFY tells when a release or break frees the name; returns the channel to LISTEN on';

CREATE FUNCTION gatepost.lease_unwatch(
    name pg_catalog.text
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_unwatch';
COMMENT ON FUNCTION gatepost.lease_unwatch(pg_catalog.text) IS
    'Ends the watch of this role; false when there is none';
