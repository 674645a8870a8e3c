CREATE FUNCTION gatepost.guard_marks() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_guard_marks';
COMMENT ON FUNCTION gatepost.guard_marks() IS 'Internal: trigger: takes in the marks that a dump carries unless they are lower, and refuses all other statements';

CREATE FUNCTION gatepost.guard_claims() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_guard_claims';
COMMENT ON FUNCTION gatepost.guard_claims() IS 'Internal: trigger: takes in the claims that a dump carries, and refuses all other statements';

CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON gatepost.marks
    FOR EACH ROW EXECUTE FUNCTION gatepost.guard_marks();
CREATE TRIGGER guard_truncation BEFORE TRUNCATE ON gatepost.marks
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.guard_marks();
ALTER TABLE gatepost.marks ENABLE ALWAYS TRIGGER guard_rows;
ALTER TABLE gatepost.marks ENABLE ALWAYS TRIGGER guard_truncation;
COMMENT ON TRIGGER guard_rows ON gatepost.marks IS 'Marks are changed by the functions of gatepost, and by a dump that raises them';
COMMENT ON TRIGGER guard_truncation ON gatepost.marks IS 'A mark that is deleted is a fence that is open';

CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON gatepost.claims
    FOR EACH ROW EXECUTE FUNCTION gatepost.guard_claims();
CREATE TRIGGER guard_truncation BEFORE TRUNCATE ON gatepost.claims
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.guard_claims();
ALTER TABLE gatepost.claims ENABLE ALWAYS TRIGGER guard_rows;
ALTER TABLE gatepost.claims ENABLE ALWAYS TRIGGER guard_truncation;
COMMENT ON TRIGGER guard_rows ON gatepost.claims IS 'Claims are changed by the functions of gatepost, and added by a dump';
COMMENT ON TRIGGER guard_truncation ON gatepost.claims IS 'A claim that is deleted can be made again';
