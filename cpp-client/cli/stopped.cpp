#include "stopped.hpp"

#include <cstdio>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

bool is_stopped_in(pid_t group, int processes, const char *process) noexcept {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "%.32s/stat", process);
  const int file = openat(processes, path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = '\0';
  // The name of a program may have brackets too.
  const char *end = std::strrchr(text, ')');
  char state = 0;
  int parent = 0, its_group = 0;
  return end != nullptr && std::sscanf(end + 1, " %c %d %d", &state, &parent, &its_group) == 3 && state == 'T' &&
         its_group == group;
}

} // namespace

bool has_stopped(pid_t group) noexcept {
  DIR *const processes = opendir("/proc");
  if (processes == nullptr)
    return false;
  bool found = false;
  for (const dirent *entry = readdir(processes); entry != nullptr && !found; entry = readdir(processes))
    found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_stopped_in(group, dirfd(processes), entry->d_name);
  closedir(processes);
  return found;
}

} // namespace gatepost::cli
