// PgBouncer in transaction mode before the server, and a load that moves clients from one server process to another.
#pragma once

#include <string>

#include <sys/types.h>

namespace gatepost::test {

class Pooler {
public:
  explicit Pooler(int connections = 3);
  ~Pooler();
  Pooler(const Pooler &) = delete;
  Pooler &operator=(const Pooler &) = delete;
  std::string conninfo() const;
  /// Whether there is a pgbouncer on this machine.
  static bool installed();

private:
  std::string folder_;
  pid_t process_ = -1;
};

} // namespace gatepost::test
