// The connection that listens for all who wait, without the looking again that makes up for what it would miss.
#include "server.hpp"
#include "wrapped.hpp"

#include "../src/listener.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace gatepost::test {
namespace {

/// Where nothing is ever notified, and which breaks when it is told to.
class Silent final : public Connection {
public:
  explicit Silent(std::atomic<int> &to_break) : to_break_{to_break} {}
  Rows execute(const std::string &, std::span<const Value>) override { return {}; }
  void listen(const std::string &) override {}
  void unlisten(const std::string &) override {}
  std::vector<std::string> notifications() override {
    if (to_break_ > 0 && to_break_-- > 0)
      throw unavailable{"broken by the test", "08006"};
    return {};
  }
  int socket() const noexcept override { return -1; }
  int backend_pid() const noexcept override { return 0; }
  void abort() noexcept override {}

private:
  std::atomic<int> &to_break_;
};

struct MachineTime final : TimeSource {
  boot_clock::time_point now() const noexcept override { return boot_clock::now(); }
  std::chrono::nanoseconds nap() const noexcept override { return 1s; }
};

TEST(Listening, WhoBeginsToListenLooksAgain) {
  // C56: what was sent before is lost, at the first time and after each break.
  std::atomic<int> to_break{0}, reconnects{0};
  detail::Listener listener{[&] { return std::make_unique<Silent>(to_break); },
                            [](const std::string &) {},
                            {{},
                             [&](std::string_view metric, double, std::string_view) {
                               reconnects += metric == "gatepost.client.reconnects";
                             }},
                            std::make_shared<MachineTime>()};
  // Nobody hears anything, so without an end the test would have none either.
  std::stop_source end;
  std::jthread ending{[&](std::stop_token done) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock{mutex};
    if (!never.wait_for(lock, done, patience(), [&] { return done.stop_requested(); }))
      end.request_stop();
  }};
  detail::Listener::Subscription place{listener, "channel"};
  for (int breaks = 0; breaks < 3; ++breaks) {
    const unsigned long heard = static_cast<unsigned long>(breaks);
    place.wait(heard, 1h, end.get_token());
    ASSERT_EQ(place.heard(), heard + 1);
    EXPECT_EQ(reconnects, breaks);
    to_break = 1;
  }
}

/// Says when its memory has been freed, so that the address sanitizer sees who uses it then.
struct Freed final : Wrapped {
  explicit Freed(std::atomic<int> &to_break) : Wrapped{std::make_unique<Silent>(to_break)} {}
  static void operator delete(void *memory) noexcept {
    ::operator delete(memory);
    freed.release();
  }
  static inline std::binary_semaphore freed{0};
};

/// A listener that was stopped while its connection was being opened.
struct StoppedWhileOpening {
  explicit StoppedWhileOpening(const ConnectionFactory &make)
      : listener{[this, make] {
                   opening.release();
                   open.acquire();
                   return make();
                 },
                 [](const std::string &) {},
                 {},
                 std::make_shared<MachineTime>()} {
    opening.acquire();
    listener.stop();
    open.release();
  }
  std::binary_semaphore opening{0}, open{0};
  detail::Listener listener;
  detail::Listener::Subscription place{listener, "channel"};
};

TEST(Listening, AConnectionThatHasEndedIsNotAborted) {
  // A client is stopped while its connection is being opened, and then once more, by its destructor.
  std::atomic<int> to_break{0};
  StoppedWhileOpening stopped{[&] { return std::make_unique<Freed>(to_break); }};
  ASSERT_TRUE(Freed::freed.try_acquire_for(patience()));
  EXPECT_NO_THROW(stopped.listener.stop());
}

/// Where somebody begins to listen.
struct Told final : Wrapped {
  Told(std::atomic<int> &to_break, std::atomic<bool> &listened_)
      : Wrapped{std::make_unique<Silent>(to_break)}, listened{listened_} {}
  ~Told() override { closed.release(); }
  void listen(const std::string &) override { listened = true; }
  std::atomic<bool> &listened;
  static inline std::binary_semaphore closed{0};
};

TEST(Listening, AStopIsNotMissedWhileTheConnectionIsBeingOpened) {
  // Where the server stands still then, the first LISTEN would have no end.
  std::atomic<int> to_break{0};
  std::atomic<bool> listened{false};
  const StoppedWhileOpening stopped{[&] { return std::make_unique<Told>(to_break, listened); }};
  ASSERT_TRUE(Told::closed.try_acquire_for(patience()));
  EXPECT_FALSE(listened);
}

/// Where each notification arrives.
struct Echo final : Wrapped {
  struct Line {
    std::mutex mutex;
    std::vector<std::string> sent;
  };
  Echo(std::atomic<int> &to_break, Line &line_) : Wrapped{std::make_unique<Silent>(to_break)}, line{line_} {}
  std::vector<std::string> notifications() override {
    const std::lock_guard lock{line.mutex};
    return std::exchange(line.sent, {});
  }
  Line &line;
};

TEST(Listening, AHookHoldsUpNobodyWhoWaits) {
  std::atomic<int> to_break{0};
  Echo::Line line;
  std::atomic<const detail::Listener::Subscription *> waiter{nullptr};
  std::future<unsigned long> beside;
  std::promise<bool> held_up;
  detail::Listener listener{[&] { return std::make_unique<Echo>(to_break, line); },
                            [&](const std::string &channel) {
                              const std::lock_guard lock{line.mutex};
                              line.sent.push_back(channel);
                            },
                            {{},
                             [&](std::string_view metric, double, std::string_view) {
                               if (metric != "gatepost.client.notifications.arrive")
                                 return;
                               while (waiter == nullptr)
                                 std::this_thread::yield();
                               beside = std::async(std::launch::async, [&] { return waiter.load()->heard(); });
                               held_up.set_value(beside.wait_for(patience()) != std::future_status::ready);
                             }},
                            std::make_shared<MachineTime>()};
  const detail::Listener::Subscription place{listener, "channel"};
  waiter = &place;
  EXPECT_FALSE(held_up.get_future().get());
}

} // namespace
} // namespace gatepost::test
