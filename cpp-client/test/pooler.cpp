#include "pooler.hpp"

#include "server.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gatepost::test {

namespace {

std::string program() {
  std::string path = std::getenv("PATH");
  path += ":/usr/sbin";
  for (std::size_t begin = 0, end; begin <= path.size(); begin = end + 1) {
    end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/pgbouncer";
    if (access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return {};
}

} // namespace

bool Pooler::installed() { return !program().empty(); }

Pooler::Pooler(int connections) {
  char folder[] = "/tmp/gatepost.pool.XXXXXX";
  folder_ = mkdtemp(folder);
  std::ofstream{folder_ + "/pgbouncer.ini"}
      << "[databases]\n* = host=" << std::getenv("PGHOST") << " port=5432 user=" << std::getenv("PGUSER")
      << "\n[pgbouncer]\npool_mode = transaction\ndefault_pool_size = " << connections
      << "\nserver_round_robin = 1\nauth_type = any\nlisten_addr =\n"
         "listen_port = 6432\nunix_socket_dir = "
      << folder_ << "\n";
  const std::string pgbouncer = program(), ini = folder_ + "/pgbouncer.ini", log = folder_ + "/log";
  process_ = fork();
  if (process_ == 0) {
    const int file = open(log.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, 1);
    dup2(file, 2);
    execl(pgbouncer.c_str(), "pgbouncer", ini.c_str(), nullptr);
    _exit(127);
  }
  const auto answers = [this] {
    try {
      return open_connection(conninfo())->execute("SELECT 1").first() == "1";
    } catch (const unavailable &) {
      return false;
    }
  };
  if (!eventually(answers))
    throw std::runtime_error{"pgbouncer does not start"};
}

Pooler::~Pooler() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  std::filesystem::remove_all(folder_);
}

std::string Pooler::conninfo() const { return "host=" + folder_ + " port=6432 connect_timeout=60"; }

} // namespace gatepost::test
