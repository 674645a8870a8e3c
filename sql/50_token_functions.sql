CREATE FUNCTION gatepost.token_draw() RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_token_draw';
COMMENT ON FUNCTION gatepost.token_draw() IS
    'Administrators: a token greater than every earlier one, of no lease';

CREATE FUNCTION gatepost.token_generation() RETURNS pg_catalog.int4
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_token_generation';
COMMENT ON FUNCTION gatepost.token_generation() IS
    'The generation of the last token drawn';

CREATE FUNCTION gatepost.token_raise_generation(
    above pg_catalog.int8 DEFAULT NULL
) RETURNS pg_catalog.int4
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_token_raise_generation';
COMMENT ON FUNCTION gatepost.token_raise_generation(pg_catalog.int8) IS
    'Administrators: makes later tokens greater than every one so far, and greater than the given one; returns the new generation';

CREATE FUNCTION gatepost.library_version() RETURNS pg_catalog.text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_library_version';
COMMENT ON FUNCTION gatepost.library_version() IS
    'Version of the library that this session has loaded';
