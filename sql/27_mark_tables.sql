-- Ordinary tables, written by statements of the library as their owner. Dumped, since what they refuse is outside.
CREATE TABLE gatepost.marks (
    token      pg_catalog.int8        NOT NULL CHECK (token OPERATOR(pg_catalog.>) 0),
    changed_at pg_catalog.timestamptz NOT NULL,
    issuer     pg_catalog.text        COLLATE pg_catalog."C" NOT NULL
        CHECK (issuer OPERATOR(pg_catalog.=) ANY ('{gatepost,any}')),
    resource   pg_catalog.text        COLLATE pg_catalog."C" PRIMARY KEY
        CHECK (pg_catalog.octet_length(resource) OPERATOR(pg_catalog.>=) 1
               AND pg_catalog.octet_length(resource) OPERATOR(pg_catalog.<=) 1024)
) WITH (fillfactor = 60);
-- A raise moves these columns nowhere; names up to 1,024 bytes stay in the row.
ALTER TABLE gatepost.marks ALTER COLUMN resource SET STORAGE PLAIN;

COMMENT ON TABLE gatepost.marks IS 'Internal: the mark of each resource outside the database; raised by fence_advance and fence_claim, never lowered';
COMMENT ON COLUMN gatepost.marks.token IS 'The highest token seen';
COMMENT ON COLUMN gatepost.marks.changed_at IS 'Wall clock of the last raise, for people';
COMMENT ON COLUMN gatepost.marks.issuer IS 'gatepost: tokens of this database; any: of another lease system, compared by order only';
COMMENT ON COLUMN gatepost.marks.resource IS 'What the tokens guard, compared by bytes';
SELECT pg_catalog.pg_extension_config_dump('gatepost.marks', '');

CREATE TABLE gatepost.claims (
    token      pg_catalog.int8        NOT NULL CHECK (token OPERATOR(pg_catalog.>) 0),
    claimed_at pg_catalog.timestamptz NOT NULL,
    resource   pg_catalog.text        COLLATE pg_catalog."C" NOT NULL
        CHECK (pg_catalog.octet_length(resource) OPERATOR(pg_catalog.>=) 1
               AND pg_catalog.octet_length(resource) OPERATOR(pg_catalog.<=) 1024),
    key        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL
        CHECK (pg_catalog.octet_length(key) OPERATOR(pg_catalog.>=) 1
               AND pg_catalog.octet_length(key) OPERATOR(pg_catalog.<=) 1024),
    PRIMARY KEY (resource, key)
);
ALTER TABLE gatepost.claims ALTER COLUMN resource SET STORAGE PLAIN;
ALTER TABLE gatepost.claims ALTER COLUMN key SET STORAGE PLAIN;

COMMENT ON TABLE gatepost.claims IS 'Internal: what has been claimed, each once; written by fence_claim, deleted by fence_purge';
COMMENT ON COLUMN gatepost.claims.token IS 'The token that claimed';
COMMENT ON COLUMN gatepost.claims.claimed_at IS 'Wall clock of the claim; fence_purge goes by it';
COMMENT ON COLUMN gatepost.claims.resource IS 'The resource';
COMMENT ON COLUMN gatepost.claims.key IS 'What was claimed of it, compared by bytes';
SELECT pg_catalog.pg_extension_config_dump('gatepost.claims', '');
