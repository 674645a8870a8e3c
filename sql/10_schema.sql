CREATE SCHEMA gatepost;
COMMENT ON SCHEMA gatepost IS 'Gatepost: leases, fencing tokens and fenced writes';
REVOKE ALL ON SCHEMA gatepost FROM PUBLIC;
