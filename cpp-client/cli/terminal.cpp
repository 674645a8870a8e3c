#include "terminal.hpp"

#include "duration.hpp"
#include "mutant.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gatepost::cli {

bool colours() {
  static const bool wanted = [] {
    const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
    if (mutant("coloured_everywhere"))
      return true;
    return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0') && term != nullptr &&
           std::string_view{term} != "dumb";
  }();
  return wanted;
}

std::string coloured(Colour colour, std::string_view text) {
  if (colour == Colour::none || !colours())
    return std::string{text};
  const char *code = colour == Colour::red      ? "31"
                     : colour == Colour::green  ? "32"
                     : colour == Colour::yellow ? "33"
                     : colour == Colour::dim    ? "2"
                                                : "1";
  return std::string{"\x1b["} + code + 'm' + std::string{text} + "\x1b[0m";
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // C1 controls are 0xc2 0x80 to 0xc2 0x9f.
    const bool second = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if ((c < 0x20 || c == 0x7f || second) && !mutant("printed_as_it_is")) {
      result += "?";
      i += second ? 1 : 0;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::size_t terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 0;
}

std::vector<std::string> Table::lines(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (const std::string &heading : headings_)
    widths.push_back(display_width(heading));
  for (const auto &row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i].text));
  const auto line = [&](const auto &cell_of, std::size_t count) {
    std::string result;
    std::size_t used = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Cell cell = cell_of(i);
      cell.text = printable(cell.text);
      const bool last = i + 1 == count;
      // Cut on a terminal only; what is piped on is whole.
      if (last && width > used && display_width(cell.text) > width - used) {
        std::size_t keep = 0;
        for (std::size_t columns = 0; keep < cell.text.size(); ++keep)
          if ((static_cast<unsigned char>(cell.text[keep]) & 0xc0) != 0x80 && ++columns > width - used - 1)
            break;
        cell.text = cell.text.substr(0, keep) + "…";
      }
      const std::size_t own = display_width(cell.text);
      result += coloured(cell.colour, cell.text);
      if (!last)
        result += std::string(widths[i] - std::min(widths[i], own) + 2, ' ');
      used += widths[i] + 2;
    }
    return result;
  };
  std::vector<std::string> result{line(
      [&](std::size_t i) {
        return Cell{headings_[i], Colour::dim};
      },
      headings_.size())};
  for (const auto &row : rows_)
    result.push_back(line([&](std::size_t i) { return row[i]; }, row.size()));
  return result;
}

void Table::print() const {
  for (const std::string &line : lines(terminal_width()))
    std::printf("%s\n", line.c_str());
}

Progress::Progress(std::string what) {
  if (isatty(STDERR_FILENO) == 0)
    return;
  // Signals are for the thread that made it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread{[this, what = std::move(what)] {
    using namespace std::chrono_literals;
    const auto begun = std::chrono::steady_clock::now();
    std::unique_lock lock{mutex_};
    bool shown = false;
    for (auto pause = 1000ms; !wake_.wait_for(lock, pause, [this] { return ended_; }); pause = 200ms) {
      std::fprintf(stderr, "\r\x1b[K%s, %s", what.c_str(),
                   duration_text(std::chrono::steady_clock::now() - begun).c_str());
      shown = true;
    }
    if (shown)
      std::fputs("\r\x1b[K", stderr);
  }};
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Progress::~Progress() {
  if (!thread_.joinable())
    return;
  {
    const std::lock_guard lock{mutex_};
    ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

} // namespace gatepost::cli
