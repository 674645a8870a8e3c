// What people see: colours on a terminal only, tables, and progress of what takes over a second.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gatepost::cli {

enum class Colour { none, red, green, yellow, dim, bold };

/// For standard output, unless NO_COLOR says otherwise or the terminal has none.
bool colours();
std::string coloured(Colour colour, std::string_view text);

/// Columns on the terminal: of UTF-8, without those that cannot be seen.
std::size_t display_width(std::string_view text);
/// Control characters would move the cursor, or forge what is shown.
std::string printable(std::string_view text);
std::size_t terminal_width();

class Table {
public:
  explicit Table(std::vector<std::string> headings) : headings_{std::move(headings)} {}
  struct Cell {
    std::string text;
    Colour colour = Colour::none;
  };
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const noexcept { return rows_.empty(); }
  /// One line each; the last column takes what is left of `width`, others are as wide as they need.
  std::vector<std::string> lines(std::size_t width) const;
  void print() const;

private:
  std::vector<std::string> headings_;
  std::vector<std::vector<Cell>> rows_;
};

/// While it lives, and after its first second, standard error says how long it takes, when that is a terminal.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

} // namespace gatepost::cli
