#include <gatepost/advisory_lock.hpp>

#include "core.hpp"
#include "mutant.hpp"
#include "statements.hpp"

#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace gatepost {
inline namespace v0 {

namespace {

/// Whether the end of a connection on which nothing has been asked is to be seen at its socket.
bool has_ended(int socket) noexcept {
  // Behind TLS what has arrived cannot be read here; that nothing more will come is seen there too.
  pollfd file{socket, POLLIN | POLLRDHUP, 0};
  if (poll(&file, 1, 0) <= 0)
    return false;
  if ((file.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0 && !detail::mutant("hangup_unseen"))
    return true;
  // Nothing was asked, so what is there is the end, an error that announces it, or a message that means nothing here.
  char byte;
  const ssize_t there = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (there < 0)
    return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && !detail::mutant("hangup_unseen");
  return there == 0 || byte == 'E';
}

} // namespace

/// Of a lock that has been released, the name is left.
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
    static_cast<void>(release());
    session_ = std::move(other.session_);
  }
  return *this;
}
AdvisoryLock::~AdvisoryLock() { static_cast<void>(release()); }

const Name &AdvisoryLock::name() const noexcept { return session_->name; }

bool AdvisoryLock::held() const noexcept {
  if (!session_ || !session_->connection || session_->lost || session_->core->forked())
    return false;
  const int socket = session_->connection->socket();
  session_->lost = socket >= 0 && has_ended(socket);
  return !session_->lost;
}

State AdvisoryLock::state() const noexcept {
  return !session_ || !session_->connection ? State::released : held() ? State::held : State::lost;
}

void AdvisoryLock::check() {
  if (!session_ || !session_->connection || session_->lost)
    throw unavailable{"the advisory lock is not held", "08003"};
  session_->core->check_process();
  try {
    const detail::Keeper::Limit limit = session_->core->limit(*session_->connection);
    session_->connection->execute(detail::sql::alive);
  } catch (...) {
    session_->lost = true;
    throw;
  }
}

bool AdvisoryLock::release() noexcept {
  if (!session_ || !session_->connection)
    return false;
  std::unique_ptr<Connection> connection = std::move(session_->connection);
  const std::shared_ptr<detail::Core> core = std::move(session_->core);
  const Name name = session_->name;
  if (detail::mutant("released_name_forgotten"))
    session_.reset();
  if (core->forked()) {
    // The session is the parent's.
    static_cast<void>(connection.release());
    return false;
  }
  try {
    const detail::Keeper::Limit limit = core->limit(*connection);
    connection->execute(detail::sql::session_unlock, std::vector<Value>{name.text()});
    return true;
  } catch (const std::exception &error) {
    // Whatever it was, the lock goes with the connection.
    core->hooks().log(LogLevel::warning,
                      "advisory lock \"" + name.text() + "\" was not held when it was released: " + error.what());
    return false;
  }
}

} // namespace v0

std::optional<AdvisoryLock> detail::Access::lock(const std::shared_ptr<Core> &core, const Name &name, Moment end,
                                                 const std::stop_token &stop) {
  std::unique_ptr<Connection> connection = core->lock_session(name, end, stop);
  if (!connection)
    return std::nullopt;
  return AdvisoryLock{
      std::unique_ptr<AdvisoryLock::Session>{new AdvisoryLock::Session{core, name, std::move(connection)}}};
}

} // namespace gatepost
