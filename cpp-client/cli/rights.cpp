#include "rights.hpp"

#include "mutant.hpp"

#include <algorithm>
#include <cctype>

namespace gatepost::cli {

namespace {

// What the two lists of docs/reference.md name, with a space before and after each; a test compares them.
constexpr std::string_view user_list =
    " lease_acquire lease_renew lease_release lease_status lease_acquire_all lease_renew_many lease_release_many"
    " lease_request_yield semaphore_acquire semaphore_resize semaphore_rows advisory_xact_lock"
    " try_advisory_xact_lock advisory_lock try_advisory_lock advisory_unlock advisory_key advisory_known"
    " fence_use fenced_update fence_protect fence_unprotect fence_by_lease fence_by_template fence_by_column"
    " fence_rows fence_advance fence_mark fence_claim token_generation library_version lease_rows refusal_rows"
    " history_rows waiter_places queued_keys lease_queue lease_unqueue lease_transfer lease_watch lease_unwatch"
    " leases advisory_locks fenced_tables refusals history waiters semaphores lease_acquire_wait ";
constexpr std::string_view administrator_list =
    " lease_break lease_purge fence_purge token_draw token_raise_generation rule_add rule_drop rule_rows"
    " refusals_reset doctor stats_row rules stats lease_slots ";

enum class Need { nothing, user, monitor, administrator };

bool names(std::string_view list, std::string_view object) {
  return !object.empty() && list.find(' ' + std::string{object} + ' ') != std::string_view::npos;
}

Need need_of_subcommand(std::string_view subcommand) {
  if (subcommand == "doctor" || subcommand == "metrics")
    return Need::monitor;
  return subcommand == "break" || subcommand == "purge" ? Need::administrator : Need::user;
}

/// The name in "function lease_break", in "view leases", and in "lease_break", as the extension itself says it.
std::string_view name_in(std::string_view object) {
  const std::string_view kinds[] = {"function ", "procedure ", "view ", "table ", "schema "};
  for (const std::string_view kind : kinds)
    if (object.starts_with(kind))
      object.remove_prefix(kind.size());
  const auto end =
      std::find_if_not(object.begin(), object.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return object.substr(0, static_cast<std::size_t>(end - object.begin()));
}

Need need(std::string_view refusal, std::string_view subcommand) {
  constexpr std::string_view denied = "permission denied for ";
  const std::size_t at = refusal.find(denied);
  if (at == std::string_view::npos || subcommand == "init")
    return Need::nothing;
  const std::string_view object = refusal.substr(at + denied.size()), name = name_in(object);
  if (object.starts_with("schema "))
    return name == "gatepost" ? need_of_subcommand(subcommand) : Need::nothing;
  if (name == "doctor" || name == "stats" || name == "stats_row")
    return Need::monitor;
  if (names(administrator_list, name))
    return Need::administrator;
  return names(user_list, name) ? Need::user : Need::nothing;
}

} // namespace

std::string remedy(std::string_view refusal, std::string_view subcommand) {
  switch (mutant("one_remedy_for_all") ? Need::user : need(refusal, subcommand)) {
  case Need::user:
    return "gatepost init --user ROLE grants what is needed";
  case Need::monitor:
    return "GRANT pg_monitor TO ROLE, or gatepost init --admin ROLE, grants what is needed";
  case Need::administrator:
    return "gatepost init --admin ROLE grants what is needed";
  case Need::nothing:
    break;
  }
  return {};
}

} // namespace gatepost::cli
