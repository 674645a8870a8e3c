// gatepost doctor: what the server finds, and what can only be seen from here.
#include "command.hpp"
#include "mutant.hpp"
#include "rows.hpp"

#include <gatepost/clock.hpp>
#include <gatepost/error.hpp>

#include <algorithm>
#include <chrono>

#include <poll.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

struct Finding {
  std::string severity, subject, detail, fix;
};
using Findings = std::vector<Finding>;

/// Asked again when the role's own limits have cut it short, which are what is being looked at.
Rows insist(Connection &connection, const std::string &sql) {
  for (int tries = 0;; ++tries) {
    try {
      return connection.execute(sql, {});
    } catch (const gatepost::error &error) {
      const std::string_view sqlstate{error.sqlstate()};
      if ((sqlstate != "57014" && sqlstate != "55P03") || tries == 100)
        throw;
    }
  }
}

long long number(Connection &connection, const std::string &sql) {
  return std::stoll(insist(connection, sql).first().value_or("0"));
}

/// Behind a pooler in transaction mode statements of one connection come from several server processes.
bool is_pooled(Connection &connection) {
  bool pooled = false;
  for (int tries = 0; tries < 3; ++tries)
    pooled = pooled || number(connection, "SELECT pg_catalog.pg_backend_pid()") != connection.backend_pid();
  return pooled && !mutant("pooler_unseen");
}

/// Looking takes longer than what some roles are allowed. What they are allowed can still be seen, as what a RESET
/// would lead to. Not behind a pooler, where whoever comes next would have it.
void lift_limits(Connection &connection) {
  if (is_pooled(connection) || mutant("limits_kept"))
    return;
  insist(connection, "SET statement_timeout = 0");
  // Some are of later versions of the server only.
  insist(connection, "SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings"
                     " WHERE name IN ('lock_timeout', 'idle_session_timeout', 'transaction_timeout')");
}

void look_at_versions(Connection &connection, Findings &findings) {
  const Rows rows = connection.execute(
      "SELECT extversion, gatepost.library_version() FROM pg_catalog.pg_extension WHERE extname = 'gatepost'", {});
  const std::string extension = rows.rows[0][0].value_or(""), library = rows.rows[0][1].value_or("");
  if (extension != GATEPOST_VERSION || library != GATEPOST_VERSION)
    findings.push_back({"notice", "client versions",
                        "the command is of version " GATEPOST_VERSION ", the extension of " + extension +
                            ", the server's library of " + library,
                        "Bring them to one version when it suits."});
}

bool look_for_pooler(Connection &connection, Findings &findings) {
  const bool pooler = is_pooled(connection);
  if (pooler)
    findings.push_back({"notice", "pooler", "there is a pooler between this client and the server",
                        "Leases work through it. Session advisory locks do not, and waiters look again and again "
                        "instead of being notified: connect to the server itself for those."});
  return pooler;
}

void look_at_notifications(Connection &connection, Findings &findings) {
  const std::string channel = "gatepost_doctor_" + std::to_string(getpid());
  connection.listen(channel);
  connection.execute("SELECT pg_catalog.pg_notify($1, '')", std::vector<Value>{channel});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{1};
  bool arrived = !connection.notifications().empty();
  while (!arrived && std::chrono::steady_clock::now() < end) {
    pollfd file{connection.socket(), POLLIN, 0};
    poll(&file, 1, 100);
    arrived = !connection.notifications().empty();
  }
  connection.unlisten(channel);
  if (!arrived)
    findings.push_back({"warning", "notifications", "notifications of the server do not arrive here within a second",
                        "Waiters look four times a second instead. Connect to the server itself."});
}

void look_at_timeouts(Connection &connection, Findings &findings) {
  const auto milliseconds = [&](const char *setting) {
    return number(connection,
                  std::string{"SELECT coalesce((SELECT reset_val FROM pg_catalog.pg_settings WHERE name = '"} +
                      setting + "'), '0')");
  };
  for (const char *setting : {"statement_timeout", "lock_timeout", "transaction_timeout"})
    if (const long long value = milliseconds(setting); value > 0 && value < 1000)
      findings.push_back(
          {"warning", "timeouts",
           std::string{setting} + " is " + std::to_string(value) + " ms for this role: calls are cut short",
           "Set it to 1 s or more for roles that hold leases."});
  if (const long long value = milliseconds("idle_session_timeout"); value > 0 && value < 30000)
    findings.push_back({"notice", "timeouts",
                        "idle_session_timeout is " + std::to_string(value) +
                            " ms for this role: connections end between renewals, and are made again",
                        "Set it to 30 s or more for roles that hold leases."});
}

void look_at_distance(Connection &connection, Findings &findings) {
  using Clock = std::chrono::steady_clock;
  Clock::duration longest{0};
  for (int i = 0; i < 5; ++i) {
    const auto before = Clock::now();
    connection.execute("SELECT 1", {});
    longest = std::max(longest, Clock::now() - before);
  }
  if (const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count(); ms > 250)
    findings.push_back({"warning", "distance", "an answer of the server took " + std::to_string(ms) + " ms",
                        "Take leases of 30 s or more from here, so that renewals come in time."});
}

void look_at_rights(Connection &connection, Findings &findings) {
  const Rows rows = connection.execute(
      "SELECT current_user, has_schema_privilege('gatepost', 'USAGE') AND bool_and(has_function_privilege(p.oid,"
      " 'EXECUTE')) FROM pg_catalog.pg_proc AS p WHERE pronamespace = 'gatepost'::regnamespace AND proname IN"
      " ('lease_acquire', 'lease_renew', 'lease_renew_many', 'lease_release', 'lease_status', 'lease_queue')",
      {});
  if (rows.rows[0][1] != "t")
    findings.push_back({"notice", "client rights", "role " + rows.rows[0][0].value_or("") + " may not take leases",
                        "Grant it the user list: gatepost init --user ROLE."});
}

Findings client_findings(Connection &connection) {
  Findings findings;
  const auto look = [&](const char *subject, auto &&call) {
    try {
      call();
    } catch (const unavailable &) {
      throw;
    } catch (const gatepost::error &error) {
      findings.push_back({"notice", subject, std::string{"not looked at: "} + error.what(),
                          "Ask with a role that has the user list."});
    }
  };
  const bool standby = connection.execute("SELECT pg_catalog.pg_is_in_recovery()", {}).first() == "t";
  if (standby)
    findings.push_back({"notice", "standby", "this is a standby: leases can be looked at, and not be taken",
                        "Name the primary with -h, or all hosts; commands that write look for it."});
  look("client versions", [&] { look_at_versions(connection, findings); });
  const bool pooler = look_for_pooler(connection, findings);
  if (!standby && !pooler)
    look("notifications", [&] { look_at_notifications(connection, findings); });
  look("timeouts", [&] { look_at_timeouts(connection, findings); });
  look("distance", [&] { look_at_distance(connection, findings); });
  look("client rights", [&] { look_at_rights(connection, findings); });
  return findings;
}

int rank(const std::string &severity) { return severity == "error" ? 2 : severity == "warning" ? 1 : 0; }

int doctor(const Invocation &invocation) {
  set_connection_defaults(Access::read_only);
  std::unique_ptr<Connection> connection = open_checked(invocation.connect, lift_limits);
  Findings findings;
  {
    const Progress progress{"looking"};
    for (const auto &row : insist(*connection, "SELECT severity, subject, detail, fix FROM gatepost.doctor()").rows)
      findings.push_back({row[0].value_or(""), row[1].value_or(""), row[2].value_or(""), row[3].value_or("")});
    for (Finding &finding : client_findings(*connection))
      findings.push_back(std::move(finding));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding &a, const Finding &b) { return rank(a.severity) > rank(b.severity); });
  int worst = 0;
  for (const Finding &finding : findings) {
    worst = std::max(worst, rank(finding.severity));
    if (invocation.json) {
      print(JsonObject{}
                .text("severity", finding.severity)
                .text("subject", finding.subject)
                .text("detail", finding.detail)
                .text("fix", finding.fix)
                .str());
      continue;
    }
    const Colour colour = finding.severity == "error"     ? Colour::red
                          : finding.severity == "warning" ? Colour::yellow
                                                          : Colour::dim;
    print(coloured(colour, finding.severity) + "  " + coloured(Colour::bold, printable(finding.subject)) + ": " +
          printable(finding.detail));
    if (!finding.fix.empty())
      print("    " + printable(one_line(finding.fix)));
  }
  if (!invocation.json && worst == 0)
    print(coloured(Colour::green, "ok") + "  no errors, no warnings");
  return worst;
}

} // namespace

void add_doctor(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "doctor", "Say what is wrong or will be, why, and what mends it",
      "For administrators and members of pg_monitor: what gatepost.doctor() finds in the server, and what only a "
      "client "
      "sees: a pooler, notifications that do not arrive, versions, timeouts of the role, the distance to the server. "
      "The "
      "status is 0 when there are only notices, 1 with a warning and 2 with an error, as monitoring plug-ins have it.");
  command.callback([&invocation] { invocation.action = [&invocation] { return doctor(invocation); }; });
}

} // namespace gatepost::cli
