// The ladder: one mutex, whose rung says how it is kept.
//
//   rung                  kept by                  ends with              through a pooler   token   lock() and
//   unlock() advisory_transaction  an advisory lock         its transaction        yes                no      no:
//   Client::with_lock advisory_session      an advisory lock         its connection         no                 no yes
//   lease                 a lease, renewed         release, or its ttl    yes                yes     yes
//
// On one name all rungs exclude each other, so a fleet may change from one to another while it runs.
#pragma once

#include <gatepost/client.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace gatepost {
inline namespace v0 {

/// What a rung can do.
struct Capabilities {
  bool lockable;            ///< lock() and unlock() at any time, not only around one transaction
  bool fencing_token;       ///< protects data against a holder who is late
  bool survives_connection; ///< held though the connection breaks
  bool through_pooler;      ///< works behind a pooler in transaction mode
};

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

/// Works with std::lock_guard, unique_lock and scoped_lock. Threads of one process exclude each other by it too; not
/// recursive. unlock() is to be called by whoever has locked.
class GATEPOST_API Mutex {
public:
  /// Throws unsupported_rung at once when the rung cannot do this: advisory_transaction, which is not lockable; a rung
  /// without a capability in `needs`; advisory_session behind a pooler, for which it connects.
  Mutex(Client &client, Name name, Rung rung = Rung::lease(), Capabilities needs = {true, false, false, false},
        std::optional<Ttl> ttl = {});
  /// Unlocks.
  ~Mutex();
  Mutex(const Mutex &) = delete;
  Mutex &operator=(const Mutex &) = delete;

  /// Waits. Throws as Client::acquire() and Client::advisory_lock().
  void lock();
  [[nodiscard]] bool try_lock();
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
