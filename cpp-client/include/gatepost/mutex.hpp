// The ladder: one mutex, whose rung says how it is kept.
//
//   rung                  kept by            ends with          through a pooler   token   lock(), unlock()
//   advisory_transaction  an advisory lock   its transaction    yes                no      no: Client::with_lock
//   advisory_session      an advisory lock   its connection     no                 no      yes
//   lease                 a lease, renewed   release, its ttl   yes                yes     yes
//
// On one name all rungs exclude each other, so a fleet may change from one to another while it runs.
#pragma once

#include <gatepost/client.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace gatepost {
inline namespace v0 {

/// What a rung can do; others than these may come.
enum class Capability : std::uint64_t {
  lockable = 1,            ///< lock() and unlock() at any time, not only around one transaction
  fencing_token = 2,       ///< protects data against a holder who is late
  survives_connection = 4, ///< held though the connection breaks
  through_pooler = 8,      ///< works behind a pooler in transaction mode
};

/// A set of them: Capability::fencing_token | Capability::through_pooler. Empty: {}.
class Capabilities {
public:
  constexpr Capabilities() noexcept = default;
  constexpr Capabilities(Capability one) noexcept : bits_{static_cast<std::uint64_t>(one)} {}

  constexpr bool has(Capability one) const noexcept { return (bits_ & static_cast<std::uint64_t>(one)) != 0; }
  friend constexpr Capabilities operator|(Capabilities a, Capabilities b) noexcept {
    a.bits_ |= b.bits_;
    return a;
  }
  friend constexpr bool operator==(Capabilities, Capabilities) noexcept = default;

private:
  std::uint64_t bits_ = 0;
};
constexpr Capabilities operator|(Capability a, Capability b) noexcept { return Capabilities{a} | Capabilities{b}; }

/// One step of the ladder, by name: others than these three may come.
class GATEPOST_API Rung {
public:
  static Rung advisory_transaction();
  static Rung advisory_session();
  static Rung lease();
  /// By its name, as from a configuration. Throws unsupported_rung for one that this library does not know.
  static Rung parse(std::string_view name);

  std::string_view name() const noexcept { return name_; }
  friend bool operator==(Rung a, Rung b) noexcept { return a.name_ == b.name_; }

private:
  explicit Rung(std::string_view name) noexcept : name_{name} {}
  std::string_view name_;
};

GATEPOST_API Capabilities capabilities(Rung rung);

/// Works with std::lock_guard, unique_lock (also with a time limit) and scoped_lock. Threads of one process exclude
/// each other by it too; not recursive. unlock() is to be called by whoever has locked. Its client may be moved
/// meanwhile, or end before it. In a child process after fork() it is not locked, unlocking and destroying it does
/// nothing, and lock() throws unavailable.
class GATEPOST_API Mutex {
public:
  /// Throws unsupported_rung at once when the rung cannot do this: advisory_transaction, which is not lockable; a rung
  /// without a capability in `needs`; advisory_session behind a pooler, for which it connects.
  Mutex(Client &client, Name name, Rung rung = Rung::lease(), Capabilities needs = {}, std::optional<Ttl> ttl = {});
  /// Unlocks.
  ~Mutex();
  Mutex(const Mutex &) = delete;
  Mutex &operator=(const Mutex &) = delete;

  /// Waits. Throws as Client::acquire() and Client::advisory_lock().
  void lock();
  [[nodiscard]] bool try_lock();
  /// Waits at most so long; zero or negative is one try. False: not to be had in that time.
  [[nodiscard]] bool try_lock_for(Duration timeout);
  /// The same, until a moment of any clock, as Client::acquire_until().
  [[nodiscard]] bool try_lock_until(boot_clock::time_point end);
  template <typename Clock, typename Length>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Length> end) {
    if constexpr (std::is_same_v<Clock, boot_clock>)
      return try_lock_until(boot_clock::time_point{Duration{end.time_since_epoch()}});
    else
      return try_lock_for(detail::left_until(end));
  }
  /// When what was locked has been lost meanwhile, that is logged; throws nothing.
  void unlock() noexcept;

  /// Locked, and not known to be lost.
  bool held() const noexcept;
  /// The lease behind a lock of that rung, for its token; null otherwise. Good until unlock().
  const Lease *lease() const noexcept;
  Rung rung() const noexcept;
  /// From the next lock() on. Throws as the constructor does.
  void change_rung(Rung rung);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace v0
} // namespace gatepost
