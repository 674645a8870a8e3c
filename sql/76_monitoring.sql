-- As the server's own extensions do: who may watch the server may watch this too.
GRANT USAGE ON SCHEMA gatepost TO pg_monitor;
GRANT EXECUTE ON FUNCTION gatepost.doctor, gatepost.stats_row TO pg_monitor;
GRANT SELECT ON gatepost.stats TO pg_monitor;
