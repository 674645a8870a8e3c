#include <gatepost/advisory_lock.hpp>

#include "core.hpp"
#include "statements.hpp"

#include <sys/socket.h>

namespace gatepost {
inline namespace v0 {

struct AdvisoryLock::Session {
  std::shared_ptr<detail::Core> core;
  Name name;
  std::unique_ptr<Connection> connection;
  bool lost = false;
};

AdvisoryLock::AdvisoryLock(std::unique_ptr<Session> session) noexcept : session_{std::move(session)} {}
AdvisoryLock::AdvisoryLock(AdvisoryLock &&other) noexcept = default;
AdvisoryLock &AdvisoryLock::operator=(AdvisoryLock &&other) noexcept {
  if (this != &other) {
    release();
    session_ = std::move(other.session_);
  }
  return *this;
}
AdvisoryLock::~AdvisoryLock() { release(); }

const Name &AdvisoryLock::name() const noexcept { return session_->name; }

bool AdvisoryLock::held() const noexcept {
  if (!session_ || session_->lost || session_->core->forked())
    return false;
  char byte;
  const int socket = session_->connection->socket();
  // Nothing is asked, so what is there is the end, an error that announces it, or a message that means nothing here.
  const ssize_t there = socket >= 0 ? recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) : -1;
  if (there == 0 || (there == 1 && byte == 'E'))
    session_->lost = true;
  return !session_->lost;
}

void AdvisoryLock::check() {
  if (!session_ || session_->lost)
    throw unavailable{"the advisory lock is not held", "08003"};
  try {
    const detail::Keeper::Limit limit{*session_->core->keeper(), *session_->connection, session_->core->patience_end()};
    session_->connection->execute(detail::sql::alive);
  } catch (...) {
    session_->lost = true;
    throw;
  }
}

bool AdvisoryLock::release() noexcept {
  if (!session_)
    return false;
  const std::unique_ptr<Session> session = std::move(session_);
  if (session->core->forked()) {
    // The session is the parent's.
    static_cast<void>(session->connection.release());
    detail::Core::leave(std::move(session->core));
    return false;
  }
  const std::vector<Value> values{session->name.text()};
  try {
    const detail::Keeper::Limit limit{*session->core->keeper(), *session->connection, session->core->patience_end()};
    session->connection->execute(detail::sql::session_unlock, values);
    return true;
  } catch (const std::exception &error) {
    // Whatever it was, the lock goes with the connection.
    session->core->hooks().log(LogLevel::warning, "advisory lock \"" + session->name.text() +
                                                      "\" was not held when it was released: " + error.what());
    return false;
  }
}

} // namespace v0

AdvisoryLock detail::Access::lock(std::shared_ptr<Core> core, const Name &name,
                                  std::unique_ptr<Connection> connection) {
  return AdvisoryLock{
      std::unique_ptr<AdvisoryLock::Session>{new AdvisoryLock::Session{std::move(core), name, std::move(connection)}}};
}

} // namespace gatepost
