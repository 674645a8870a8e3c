#include "failure.hpp"

#include "mutant.hpp"
#include "rights.hpp"

#include <gatepost/error.hpp>

#include <cctype>

namespace gatepost::cli {

namespace {

/// Whether a message about what does not exist is about the schema gatepost, or with a dot about something in it. By
/// the name alone, since messages are in the server's language.
bool is_about_gatepost(std::string_view message, bool something_in_it) {
  constexpr std::string_view schema = "gatepost";
  const auto of_a_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  for (std::size_t at = message.find(schema); at != std::string_view::npos; at = message.find(schema, at + 1)) {
    const std::size_t end = at + schema.size();
    const char next = end < message.size() ? message[end] : ' ';
    if ((at == 0 || !of_a_name(message[at - 1])) && !of_a_name(next) && (next == '.') == something_in_it)
      return true;
  }
  return false;
}

} // namespace

int status_for(std::string_view sqlstate, std::string_view message) noexcept {
  const auto is = [&](std::string_view code) { return sqlstate == code; };
  const auto of_class = [&](std::string_view code) { return sqlstate.starts_with(code); };
  if (mutant("one_status_for_all"))
    return internal;
  if (is("42501") || of_class("28"))
    return no_rights;
  if (is("3D000") || is("58P01"))
    return set_up;
  // A schema, a table or a function is not there: ours, or one that was named.
  if ((is("3F000") || is("42P01") || is("42883")) &&
      (is_about_gatepost(message, !is("3F000")) || mutant("all_that_is_absent_is_ours")))
    return set_up;
  if (is("LG001") || is("LG002"))
    return lost;
  if (is("LG010") || is("55P03") || of_class("40"))
    return busy;
  if (is("LG007") || is("25006") || of_class("08") || of_class("53") || of_class("57") || of_class("58"))
    return no_server;
  if (of_class("22") || is("LG004") || is("LG005") || is("LG006") || is("LG009") || is("42704") || is("42703") ||
      is("42804") || is("42809") || is("3F000") || is("42P01") || is("42601") || is("42602") || is("0A000"))
    return usage;
  return internal;
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)))
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  while (!line.empty() && line.back() == ' ')
    line.pop_back();
  return line;
}

Failure current_failure(std::string_view subcommand) {
  try {
    throw;
  } catch (const Failure &failure) {
    return failure;
  } catch (const lease_lost &error) {
    return {lost, error.what()};
  } catch (const unavailable &error) {
    return {no_server, error.what()};
  } catch (const unknown_outcome &error) {
    return {no_server, error.what()};
  } catch (const gatepost::error &error) {
    const int status = status_for(error.sqlstate(), error.what());
    if (const std::string help = remedy(error.what(), subcommand); status == no_rights && !help.empty())
      return {status, std::string{error.what()} + "; " + help};
    return {status, error.what()};
  } catch (const std::exception &error) {
    return {internal, error.what()};
  }
}

} // namespace gatepost::cli
