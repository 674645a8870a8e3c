-- Roles by name: a dump is loaded where they are not, and a rule whose role is gone goes on shutting its prefix.
CREATE TABLE gatepost.name_rules (
    prefix pg_catalog.text COLLATE pg_catalog."C" NOT NULL
        CHECK (pg_catalog.octet_length(prefix) OPERATOR(pg_catalog.<=) 1024),
    member pg_catalog.text COLLATE pg_catalog."C" NOT NULL
        CHECK (pg_catalog.octet_length(member) OPERATOR(pg_catalog.>=) 1
               AND pg_catalog.octet_length(member) OPERATOR(pg_catalog.<=) 63),
    action pg_catalog.text COLLATE pg_catalog."C" NOT NULL
        CHECK (action OPERATOR(pg_catalog.=) ANY ('{hold,see,break}')),
    PRIMARY KEY (prefix, member, action)
);
COMMENT ON TABLE gatepost.name_rules IS 'Internal: which roles may do what with names of a prefix; changed by rule_add and rule_drop. See the view rules.';
COMMENT ON COLUMN gatepost.name_rules.prefix IS 'Bytes that a name begins with';
COMMENT ON COLUMN gatepost.name_rules.member IS 'Name of a role, whether or not it exists';
COMMENT ON COLUMN gatepost.name_rules.action IS 'hold, see or break';
SELECT pg_catalog.pg_extension_config_dump('gatepost.name_rules', '');
