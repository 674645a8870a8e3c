CREATE FUNCTION gatepost.refuse_dml() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_refuse_dml';
COMMENT ON FUNCTION gatepost.refuse_dml() IS 'Internal: trigger: refuses statements on tables that the library reads and writes directly';

CREATE FUNCTION gatepost.floor_loaded() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_floor_loaded';
COMMENT ON FUNCTION gatepost.floor_loaded() IS 'Internal: trigger: raises the generation above the token that a dump carries';

CREATE FUNCTION gatepost.refuse_in_constraints() RETURNS event_trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_refuse_in_constraints';
COMMENT ON FUNCTION gatepost.refuse_in_constraints() IS 'Internal: event trigger: refuses functions of gatepost in check constraints';

-- Row triggers too: logical workers fire no statement trigger. ALWAYS: session_replication_role does not lift them.
CREATE TRIGGER refuse_rows BEFORE INSERT OR UPDATE OR DELETE ON gatepost.lease_slots
    FOR EACH ROW EXECUTE FUNCTION gatepost.refuse_dml();
CREATE TRIGGER refuse_statements BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON gatepost.lease_slots
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.refuse_dml();
ALTER TABLE gatepost.lease_slots ENABLE ALWAYS TRIGGER refuse_rows;
ALTER TABLE gatepost.lease_slots ENABLE ALWAYS TRIGGER refuse_statements;

CREATE TRIGGER refuse_rows BEFORE INSERT OR UPDATE OR DELETE ON gatepost.identity
    FOR EACH ROW EXECUTE FUNCTION gatepost.refuse_dml();
CREATE TRIGGER refuse_statements BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON gatepost.identity
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.refuse_dml();
ALTER TABLE gatepost.identity ENABLE ALWAYS TRIGGER refuse_rows;
ALTER TABLE gatepost.identity ENABLE ALWAYS TRIGGER refuse_statements;

CREATE TRIGGER refuse_rows BEFORE INSERT OR UPDATE OR DELETE ON gatepost.queue
    FOR EACH ROW EXECUTE FUNCTION gatepost.refuse_dml();
CREATE TRIGGER refuse_statements BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON gatepost.queue
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.refuse_dml();
ALTER TABLE gatepost.queue ENABLE ALWAYS TRIGGER refuse_rows;
ALTER TABLE gatepost.queue ENABLE ALWAYS TRIGGER refuse_statements;

COMMENT ON TRIGGER refuse_rows ON gatepost.lease_slots IS 'Rows are changed by the functions of gatepost only';
COMMENT ON TRIGGER refuse_statements ON gatepost.lease_slots IS 'Rows are changed by the functions of gatepost only';
COMMENT ON TRIGGER refuse_rows ON gatepost.identity IS 'The row is changed by the functions of gatepost only';
COMMENT ON TRIGGER refuse_statements ON gatepost.identity IS 'The row is changed by the functions of gatepost only';
COMMENT ON TRIGGER refuse_rows ON gatepost.queue IS 'Rows are changed by the functions of gatepost only';
COMMENT ON TRIGGER refuse_statements ON gatepost.queue IS 'Rows are changed by the functions of gatepost only';

CREATE TRIGGER floor_loaded BEFORE INSERT ON gatepost.floor
    FOR EACH ROW EXECUTE FUNCTION gatepost.floor_loaded();
ALTER TABLE gatepost.floor ENABLE ALWAYS TRIGGER floor_loaded;
COMMENT ON TRIGGER floor_loaded ON gatepost.floor IS 'Raises the generation above the token that a dump carries';

CREATE FUNCTION gatepost.rule_loaded() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_rule_loaded';
COMMENT ON FUNCTION gatepost.rule_loaded() IS 'Internal: trigger: adds the rules that a dump carries';
CREATE TRIGGER rule_loaded BEFORE INSERT ON gatepost.name_rules
    FOR EACH ROW EXECUTE FUNCTION gatepost.rule_loaded();
CREATE TRIGGER refuse_rows BEFORE UPDATE OR DELETE ON gatepost.name_rules
    FOR EACH ROW EXECUTE FUNCTION gatepost.refuse_dml();
CREATE TRIGGER refuse_statements BEFORE UPDATE OR DELETE OR TRUNCATE ON gatepost.name_rules
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.refuse_dml();
ALTER TABLE gatepost.name_rules ENABLE ALWAYS TRIGGER rule_loaded;
ALTER TABLE gatepost.name_rules ENABLE ALWAYS TRIGGER refuse_rows;
ALTER TABLE gatepost.name_rules ENABLE ALWAYS TRIGGER refuse_statements;
COMMENT ON TRIGGER rule_loaded ON gatepost.name_rules IS 'Adds the rules that a dump carries';
COMMENT ON TRIGGER refuse_rows ON gatepost.name_rules IS 'Rules are changed by rule_add and rule_drop only';
COMMENT ON TRIGGER refuse_statements ON gatepost.name_rules IS 'Rules are changed by rule_add and rule_drop only';

CREATE EVENT TRIGGER gatepost_refuse_in_constraints ON ddl_command_end
    WHEN TAG IN ('CREATE SCHEMA', 'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE', 'CREATE FOREIGN TABLE',
                 'ALTER FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA', 'CREATE DOMAIN', 'ALTER DOMAIN')
    EXECUTE FUNCTION gatepost.refuse_in_constraints();
ALTER EVENT TRIGGER gatepost_refuse_in_constraints ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER gatepost_refuse_in_constraints IS 'Refuses functions of gatepost in check constraints';

-- Default privileges of the installing role may have opened more than functions.
REVOKE ALL ON ALL ROUTINES IN SCHEMA gatepost FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA gatepost FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA gatepost FROM PUBLIC;
