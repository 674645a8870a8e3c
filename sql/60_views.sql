CREATE FUNCTION gatepost.lease_rows(
    OUT name pg_catalog.text,
    OUT slot pg_catalog.int4,
    OUT kind pg_catalog.text,
    OUT weight pg_catalog.int4,
    OUT state pg_catalog.text,
    OUT token pg_catalog.int8,
    OUT generation pg_catalog.int4,
    OUT owner pg_catalog.text,
    OUT role pg_catalog.regrole,
    OUT client_addr pg_catalog.inet,
    OUT pid pg_catalog.int4,
    OUT acquired_at pg_catalog.timestamptz,
    OUT renewed_at pg_catalog.timestamptz,
    OUT expires_at pg_catalog.timestamptz,
    OUT remaining pg_catalog.interval,
    OUT ttl pg_catalog.interval,
    OUT metadata pg_catalog.jsonb,
    OUT yield_requested pg_catalog.bool,
    OUT yield_reason pg_catalog.text,
    OUT authoritative pg_catalog.bool
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100 AS 'MODULE_PATHNAME', 'gatepost_lease_rows';
COMMENT ON FUNCTION gatepost.lease_rows() IS
    'Internal: what the view leases shows: the newest state, whatever the snapshot of the caller';

CREATE VIEW gatepost.leases AS
    SELECT name, slot, kind, weight, state, token, generation, owner, role, client_addr, pid, acquired_at, renewed_at,
           expires_at, remaining, ttl, metadata, yield_requested, yield_reason, authoritative
    FROM gatepost.lease_rows();
COMMENT ON VIEW gatepost.leases IS 'Every lease that has been granted and not purged, newest state';
COMMENT ON COLUMN gatepost.leases.name IS 'Name of the lease';
COMMENT ON COLUMN gatepost.leases.slot IS '0 for a lease, the number of the permit for a semaphore';
COMMENT ON COLUMN gatepost.leases.kind IS 'lease or permit';
COMMENT ON COLUMN gatepost.leases.weight IS 'How many permits it takes of a semaphore; 1 for a lease';
COMMENT ON COLUMN gatepost.leases.state IS 'held, in_flight, recovering, lapsed, released, broken or superseded';
COMMENT ON COLUMN gatepost.leases.token IS 'Fencing token: the highest ever granted for the name';
COMMENT ON COLUMN gatepost.leases.generation IS 'Generation of the token';
COMMENT ON COLUMN gatepost.leases.owner IS 'A label for people';
COMMENT ON COLUMN gatepost.leases.role IS 'The role that acquired; its members may renew and release';
COMMENT ON COLUMN gatepost.leases.client_addr IS 'Address of the client that acquired, NULL on a unix socket';
COMMENT ON COLUMN gatepost.leases.pid IS 'The backend that acquired';
COMMENT ON COLUMN gatepost.leases.acquired_at IS 'When it was granted';
COMMENT ON COLUMN gatepost.leases.renewed_at IS 'When it was granted or last renewed';
COMMENT ON COLUMN gatepost.leases.expires_at IS 'When it lapses by the wall clock, for people; remaining decides';
COMMENT ON COLUMN gatepost.leases.remaining IS 'Time until it lapses, by a clock that wall clock steps do not move; 0 when it is over';
COMMENT ON COLUMN gatepost.leases.ttl IS 'Time to live of the grant or last renewal';
COMMENT ON COLUMN gatepost.leases.metadata IS 'What the holder wished to say';
COMMENT ON COLUMN gatepost.leases.yield_requested IS 'Whether somebody asks the holder to give the lease up';
COMMENT ON COLUMN gatepost.leases.yield_reason IS 'The reason that was given with lease_request_yield';
COMMENT ON COLUMN gatepost.leases.authoritative IS 'False on a standby, where the state may be old';
