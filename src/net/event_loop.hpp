// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::net {

struct LoopState;

// A promise of the loop to call something later: a timer, a watched descriptor or a signal. Destroying or
// cancelling it takes the promise back: the function is not called after that. To be used on the loop's
// thread, or while the loop does not run; not after its end.
class Subscription {
 public:
  class Source;

  Subscription() = default;
  explicit Subscription(std::shared_ptr<Source> source) : source_(std::move(source)) {}
  Subscription(Subscription&& other) noexcept = default;
  Subscription& operator=(Subscription&& other) noexcept;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription() { cancel(); }

  void cancel();
  [[nodiscard]] bool is_active() const;

 private:
  std::shared_ptr<Source> source_;
};

// The one thread for sockets and timers. Everything it calls runs on the thread that is in run() and must not
// block. An exception that leaves a called function ends the process: a programmer's error.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Until stop(). May be called again afterwards; what was posted meanwhile runs then.
  void run();
  // From any thread and from signal subscriptions: run() returns as soon as the running function is done.
  void stop();
  // From any thread; in order. Dropped when the loop no longer exists.
  void post(std::function<void()> function);

  // Once, at that moment or later; at once (but not before returning) when it is past.
  [[nodiscard]] Subscription at(MonoTime time, std::function<void()> function);
  [[nodiscard]] Subscription after(Duration delay, std::function<void()> function);
  // First after one period; the next is due one period after a call began, so a late one never makes a burst.
  [[nodiscard]] Subscription every(Duration period, std::function<void()> function);
  // Takes over these signals of the process until cancelled.
  [[nodiscard]] Result<Subscription> on_signal(const std::vector<int>& signals,
                                               std::function<void(int signal)> function);
  // Called again and again while `fd` is readable or at its end. The descriptor stays the caller's: cancel
  // before closing it.
  [[nodiscard]] Result<Subscription> watch_readable(int fd, std::function<void()> function);

  // For the other parts of net/.
  [[nodiscard]] const std::shared_ptr<LoopState>& state() const { return state_; }

 private:
  std::shared_ptr<LoopState> state_;
};

}  // namespace autopilot::net
