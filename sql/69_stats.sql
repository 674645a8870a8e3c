CREATE TYPE gatepost.stats_type AS (
    leases_held pg_catalog.int8,
    permits_held pg_catalog.int8,
    leases_in_flight pg_catalog.int8,
    leases_recovering pg_catalog.int8,
    leases_lapsed pg_catalog.int8,
    waiters pg_catalog.int8,
    waiters_outside pg_catalog.int8,
    keepers pg_catalog.int8,
    oldest_keeper_seconds pg_catalog.float8,
    next_expiry_seconds pg_catalog.float8,
    tokens_drawn_total pg_catalog.int8,
    takeovers pg_catalog.int8,
    breaks pg_catalog.int8,
    refused_stale_token_total pg_catalog.int8,
    refused_lease_not_held_total pg_catalog.int8,
    refused_token_required_total pg_catalog.int8,
    refused_unknown_token_total pg_catalog.int8,
    refused_token_of_other_lease_total pg_catalog.int8,
    refused_others_total pg_catalog.int8,
    generation pg_catalog.int8,
    counter_left pg_catalog.int8
);
COMMENT ON TYPE gatepost.stats_type IS 'A row of the view stats';

-- Not exact where a crash has skipped numbers: the sequence is logged ahead.
CREATE FUNCTION gatepost.doctor_stats() RETURNS SETOF gatepost.stats_type
    LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 1 SET search_path = pg_catalog, pg_temp AS $function$
WITH lease AS (
    SELECT count(*) FILTER (WHERE state = 'held' AND kind = 'lease') AS held,
           coalesce(sum(weight) FILTER (WHERE state = 'held' AND kind = 'permit'), 0)::int8 AS permits,
           count(*) FILTER (WHERE state = 'in_flight') AS in_flight,
           count(*) FILTER (WHERE state = 'recovering') AS recovering,
           count(*) FILTER (WHERE state = 'lapsed') AS lapsed,
           extract(epoch FROM min(remaining) FILTER (WHERE state = 'held'))::float8 AS next_expiry
    FROM gatepost.lease_rows()
), waiter AS (
    -- 18259 is the class of the waiters tag, src/locks.hpp.
    SELECT count(*) AS waiters FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 18259 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
), outside AS (
    SELECT count(*) AS waiters FROM gatepost.queued_keys()
), keeper AS (
    SELECT count(*) AS keepers, extract(epoch FROM max(clock_timestamp() - a.xact_start))::float8 AS oldest
    FROM gatepost.doctor_keepers() LEFT JOIN pg_stat_activity AS a USING (pid)
), token AS (
    SELECT CASE i.first WHEN 0 THEN 0 ELSE (s.last_value - i.first) >> 5 END AS drawn,
           s.last_value >> 34 AS generation, 536870911 - ((s.last_value >> 5) & 536870911) AS counter_left
    FROM gatepost.token_sequence AS s, gatepost.identity AS i
), history AS (
    SELECT count(*) FILTER (WHERE event = 'takeover') AS takeovers, count(*) FILTER (WHERE event = 'break') AS breaks
    FROM gatepost.history_rows() WHERE current_setting('gatepost.history_retention') <> '0'
), refusal AS (
    SELECT coalesce(sum(count) FILTER (WHERE reason = 'stale_token'), 0)::int8 AS stale_token,
           coalesce(sum(count) FILTER (WHERE reason = 'lease_not_held'), 0)::int8 AS lease_not_held,
           coalesce(sum(count) FILTER (WHERE reason = 'token_required'), 0)::int8 AS token_required,
           coalesce(sum(count) FILTER (WHERE reason = 'unknown_token'), 0)::int8 AS unknown_token,
           coalesce(sum(count) FILTER (WHERE reason = 'token_of_other_lease'), 0)::int8 AS token_of_other_lease,
           coalesce(sum(count) FILTER (WHERE reason = 'others'), 0)::int8 AS others
    FROM gatepost.refusal_rows()
), kept AS (
    SELECT nullif(current_setting('gatepost.history_retention'), '0') IS NOT NULL AS history
)
SELECT lease.held, lease.permits, lease.in_flight, lease.recovering, lease.lapsed,
       waiter.waiters, outside.waiters, keeper.keepers, keeper.oldest, lease.next_expiry,
       token.drawn, CASE WHEN kept.history THEN history.takeovers END, CASE WHEN kept.history THEN history.breaks END,
       refusal.stale_token, refusal.lease_not_held, refusal.token_required, refusal.unknown_token,
       refusal.token_of_other_lease, refusal.others,
       token.generation, token.counter_left
FROM lease, waiter, outside, keeper, token, history, refusal, kept
$function$;
COMMENT ON FUNCTION gatepost.doctor_stats() IS 'Internal: for stats: its row, with the rights of the caller';

CREATE FUNCTION gatepost.stats_row() RETURNS SETOF gatepost.stats_type
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'gatepost_stats_row';
COMMENT ON FUNCTION gatepost.stats_row() IS 'Internal: what the view stats shows';

CREATE VIEW gatepost.stats AS
    SELECT leases_held, permits_held, leases_in_flight, leases_recovering, leases_lapsed, waiters, waiters_outside,
           keepers, oldest_keeper_seconds, next_expiry_seconds, tokens_drawn_total, takeovers, breaks,
           refused_stale_token_total, refused_lease_not_held_total, refused_token_required_total,
           refused_unknown_token_total, refused_token_of_other_lease_total, refused_others_total, generation,
           counter_left
    FROM gatepost.stats_row();
COMMENT ON VIEW gatepost.stats IS 'One row of figures for monitoring, newest state';
COMMENT ON COLUMN gatepost.stats.leases_held IS 'Leases that are live';
COMMENT ON COLUMN gatepost.stats.permits_held IS 'Permits of semaphores that are live, each grant by its weight';
COMMENT ON COLUMN gatepost.stats.leases_in_flight IS 'Leases and permits that an open transaction is changing';
COMMENT ON COLUMN gatepost.stats.leases_recovering IS 'Leases and permits of another boot or server, which count as live';
COMMENT ON COLUMN gatepost.stats.leases_lapsed IS 'Leases and permits that are past their deadline and not taken since';
COMMENT ON COLUMN gatepost.stats.waiters IS 'Sessions that wait inside the server for a lease or permits';
COMMENT ON COLUMN gatepost.stats.waiters_outside IS 'Places of those who wait outside the server for a lease';
COMMENT ON COLUMN gatepost.stats.keepers IS 'Sessions that keep names by an open transaction or an advisory lock';
COMMENT ON COLUMN gatepost.stats.oldest_keeper_seconds IS 'How long the oldest transaction of those sessions has been open; NULL for none';
COMMENT ON COLUMN gatepost.stats.next_expiry_seconds IS 'Until the next live lease lapses unless it is renewed; NULL for none';
COMMENT ON COLUMN gatepost.stats.tokens_drawn_total IS 'Tokens drawn since the generation was raised: grants, committed or not, breaks and token_draw';
COMMENT ON COLUMN gatepost.stats.takeovers IS 'Grants of lapsed leases that are in the history; NULL when none is kept';
COMMENT ON COLUMN gatepost.stats.breaks IS 'Breaks that are in the history; NULL when none is kept';
COMMENT ON COLUMN gatepost.stats.refused_stale_token_total IS 'Writes refused since the counters were reset: a later token has been seen';
COMMENT ON COLUMN gatepost.stats.refused_lease_not_held_total IS 'Writes refused since the counters were reset: the lease is over';
COMMENT ON COLUMN gatepost.stats.refused_token_required_total IS 'Writes refused since the counters were reset: no token was used';
COMMENT ON COLUMN gatepost.stats.refused_unknown_token_total IS 'Writes refused since the counters were reset: the token was never drawn here';
COMMENT ON COLUMN gatepost.stats.refused_token_of_other_lease_total IS 'Writes refused since the counters were reset: the token is of another name';
COMMENT ON COLUMN gatepost.stats.refused_others_total IS 'Writes refused since the counters were reset that found no counter of their own';
COMMENT ON COLUMN gatepost.stats.generation IS 'Generation of the last token';
COMMENT ON COLUMN gatepost.stats.counter_left IS 'Tokens that are left in the generation';
