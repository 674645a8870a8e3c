// Every statement that the library sends.
#pragma once

namespace gatepost::inline v0::detail::sql {

inline constexpr const char *lease_acquire =
    "SELECT gatepost.lease_acquire($1, $2::interval, owner => $3, metadata => $4::jsonb, request_id => $5::uuid)";
inline constexpr const char *semaphore_acquire = "SELECT gatepost.semaphore_acquire($1, $6::int, $2::interval, weight "
                                                 "=> $7::int, owner => $3, metadata => $4::jsonb,"
                                                 " request_id => $5::uuid)";
inline constexpr const char *lease_renew = "SELECT gatepost.lease_renew($1, $2::bigint, $3::interval)";
inline constexpr const char *lease_renew_many =
    "SELECT name, token, status, detail FROM gatepost.lease_renew_many($1::text[], $2::bigint[])";
inline constexpr const char *lease_release = "SELECT gatepost.lease_release($1, $2::bigint)";
inline constexpr const char *lease_status = "SELECT gatepost.lease_status($1, $2::bigint)";
inline constexpr const char *lease_queue =
    "SELECT gatepost.lease_queue($1, $5::uuid, $2::interval, $6::interval, $3, $4::jsonb)";
inline constexpr const char *lease_unqueue = "SELECT gatepost.lease_unqueue($1, $2::uuid)";
inline constexpr const char *lease_request_yield = "SELECT gatepost.lease_request_yield($1, $2)";
inline constexpr const char *leader = "SELECT token, owner FROM gatepost.leases WHERE name = $1 AND state = 'held'";
inline constexpr const char *notify = "SELECT pg_notify($1, '')";
inline constexpr const char *backend_pid = "SELECT pg_backend_pid()";
inline constexpr const char *alive = "SELECT 1";
inline constexpr const char *begin = "BEGIN";
inline constexpr const char *commit = "COMMIT";
inline constexpr const char *rollback = "ROLLBACK";
inline constexpr const char *xact_lock = "SELECT gatepost.advisory_xact_lock($1)";
inline constexpr const char *session_lock = "SELECT gatepost.advisory_lock($1)";
inline constexpr const char *try_session_lock = "SELECT gatepost.try_advisory_lock($1)";
inline constexpr const char *session_unlock = "SELECT gatepost.advisory_unlock($1)";

} // namespace gatepost::inline v0::detail::sql
