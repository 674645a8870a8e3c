-- Guards of the tables that count refusals and keep the history, as of lease_slots in the file before.
CREATE TRIGGER refuse_rows BEFORE INSERT OR UPDATE OR DELETE ON gatepost.refusal_counters
    FOR EACH ROW EXECUTE FUNCTION gatepost.refuse_dml();
CREATE TRIGGER refuse_statements BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON gatepost.refusal_counters
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.refuse_dml();
ALTER TABLE gatepost.refusal_counters ENABLE ALWAYS TRIGGER refuse_rows;
ALTER TABLE gatepost.refusal_counters ENABLE ALWAYS TRIGGER refuse_statements;
COMMENT ON TRIGGER refuse_rows ON gatepost.refusal_counters IS 'Rows are changed by the functions of gatepost only';
COMMENT ON TRIGGER refuse_statements ON gatepost.refusal_counters IS 'Rows are changed by the functions of gatepost only';
CREATE TRIGGER refuse_rows BEFORE INSERT OR UPDATE OR DELETE ON gatepost.refusal_history
    FOR EACH ROW EXECUTE FUNCTION gatepost.refuse_dml();
CREATE TRIGGER refuse_statements BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON gatepost.refusal_history
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.refuse_dml();
ALTER TABLE gatepost.refusal_history ENABLE ALWAYS TRIGGER refuse_rows;
ALTER TABLE gatepost.refusal_history ENABLE ALWAYS TRIGGER refuse_statements;
COMMENT ON TRIGGER refuse_rows ON gatepost.refusal_history IS 'Rows are changed by the functions of gatepost only';
COMMENT ON TRIGGER refuse_statements ON gatepost.refusal_history IS 'Rows are changed by the functions of gatepost only';
CREATE TRIGGER refuse_rows BEFORE INSERT OR UPDATE OR DELETE ON gatepost.lease_history
    FOR EACH ROW EXECUTE FUNCTION gatepost.refuse_dml();
CREATE TRIGGER refuse_statements BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON gatepost.lease_history
    FOR EACH STATEMENT EXECUTE FUNCTION gatepost.refuse_dml();
ALTER TABLE gatepost.lease_history ENABLE ALWAYS TRIGGER refuse_rows;
ALTER TABLE gatepost.lease_history ENABLE ALWAYS TRIGGER refuse_statements;
COMMENT ON TRIGGER refuse_rows ON gatepost.lease_history IS 'Rows are changed by the functions of gatepost only';
COMMENT ON TRIGGER refuse_statements ON gatepost.lease_history IS 'Rows are changed by the functions of gatepost only';
