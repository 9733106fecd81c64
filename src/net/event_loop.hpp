// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::net {

struct LoopState;

// A registered callback of the loop: a timer, a watched descriptor or a signal. Destroying or cancelling it
// unregisters the callback, which is not called afterwards. Use it on the loop's thread, or while the loop
// does not run; not after the loop's destruction.
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

// The only thread for sockets and timers. Every callback runs on the thread that is in run() and must not
// block. An exception from a callback ends the process, because it is a programming error.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs until stop(). Can be called again; functions posted in between run then.
  void run();
  // From any thread and from signal callbacks. run() returns as soon as the current callback returns.
  void stop();
  // From any thread; functions run in order. Dropped if the loop no longer exists.
  void post(std::function<void()> function);

  // Calls the function once, at that time or later. For a time in the past it calls soon, but not before this
  // function returns.
  [[nodiscard]] Subscription at(MonoTime time, std::function<void()> function);
  [[nodiscard]] Subscription after(Duration delay, std::function<void()> function);
  // Calls first after one period. The next call is due one period after the start of the previous one, so a
  // delayed call causes no burst.
  [[nodiscard]] Subscription every(Duration period, std::function<void()> function);
  // Handles these signals of the process until cancelled.
  [[nodiscard]] Result<Subscription> on_signal(const std::vector<int>& signals,
                                               std::function<void(int signal)> function);
  // Calls the function repeatedly while `fd` is readable or at its end. The caller keeps ownership of the
  // descriptor and must cancel before closing it.
  [[nodiscard]] Result<Subscription> watch_readable(int fd, std::function<void()> function);

  // For the other parts of net/.
  [[nodiscard]] const std::shared_ptr<LoopState>& state() const { return state_; }

 private:
  std::shared_ptr<LoopState> state_;
};

}  // namespace autopilot::net
