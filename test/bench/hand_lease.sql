-- What one would write by hand: a table as wide as lease_slots, with its head-room and vacuum settings.
CREATE TABLE hand_lease (
    token       bigint      NOT NULL,
    expires_at  timestamptz NOT NULL,
    acquired_at timestamptz NOT NULL,
    renewed_at  timestamptz NOT NULL,
    ttl         interval    NOT NULL,
    request_id  uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    role        oid         NOT NULL DEFAULT 10,
    pid         integer     NOT NULL DEFAULT 0,
    weight      integer     NOT NULL DEFAULT 1,
    filler      bigint      NOT NULL DEFAULT 0,
    kind        "char"      NOT NULL DEFAULT 'l',
    state       "char"      NOT NULL DEFAULT 'h',
    flag        boolean     NOT NULL DEFAULT false,
    asked       boolean     NOT NULL DEFAULT false,
    reason      name        NOT NULL DEFAULT '',
    name        text        COLLATE "C" PRIMARY KEY,
    owner       text,
    metadata    jsonb
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
