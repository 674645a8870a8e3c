// Every statement that the library sends.
#pragma once

namespace gatepost::inline v0::detail::sql {

// Arguments by their places, since the server looks for it longer by their names: the statement comes anew each time.
inline constexpr const char *lease_acquire =
    "SELECT gatepost.lease_acquire($1, $2::interval, '0', $3, $4::jsonb, $5::uuid)";
// As it is not done: waiting keeps a snapshot in the server.
inline constexpr const char *lease_acquire_inside =
    "SELECT gatepost.lease_acquire($1, $2::interval, '1 h', $3, $4::jsonb, $5::uuid)";
inline constexpr const char *semaphore_acquire =
    "SELECT gatepost.semaphore_acquire($1, $6::int, $2::interval, '0', $7::int, $3, $4::jsonb, $5::uuid)";
inline constexpr const char *lease_renew = "SELECT gatepost.lease_renew($1, $2::bigint, $3::interval)";
inline constexpr const char *lease_renew_many =
    "SELECT name, token, status, detail FROM gatepost.lease_renew_many($1::text[], $2::bigint[])";
inline constexpr const char *lease_release = "SELECT gatepost.lease_release($1, $2::bigint)";
inline constexpr const char *lease_status = "SELECT gatepost.lease_status($1, $2::bigint)";
inline constexpr const char *kind_of = "SELECT kind FROM gatepost.leases WHERE name = $1 AND token = $2::bigint";
inline constexpr const char *lease_queue =
    "SELECT gatepost.lease_queue($1, $5::uuid, $2::interval, $6::interval, $3, $4::jsonb)";
inline constexpr const char *lease_unqueue = "SELECT gatepost.lease_unqueue($1, $2::uuid)";
inline constexpr const char *lease_request_yield = "SELECT gatepost.lease_request_yield($1, $2)";
// Whoever is being renewed, or has been the leader since before a restart of the server, is the leader too.
inline constexpr const char *leader = "SELECT token, owner FROM gatepost.leases WHERE name = $1 AND remaining > '0'";
inline constexpr const char *notify = "SELECT pg_notify($1, '')";
inline constexpr const char *backend_pid = "SELECT pg_backend_pid()";
inline constexpr const char *alive = "SELECT 1";
inline constexpr const char *begin = "BEGIN";
inline constexpr const char *commit = "COMMIT";
inline constexpr const char *rollback = "ROLLBACK";
inline constexpr const char *xact_lock = "SELECT gatepost.advisory_xact_lock($1)";
inline constexpr const char *session_lock = "SELECT gatepost.advisory_lock($1)";
inline constexpr const char *try_session_lock = "SELECT gatepost.try_advisory_lock($1, $2::interval)";
// So that a wait that is given up here ends there too. Servers before 14 do not have the setting.
inline constexpr const char *notice_our_end =
    "SELECT set_config('client_connection_check_interval', '1s', $1::boolean)"
    " WHERE current_setting('client_connection_check_interval', true) IS NOT NULL";
inline constexpr const char *session_unlock = "SELECT gatepost.advisory_unlock($1)";

} // namespace gatepost::inline v0::detail::sql
