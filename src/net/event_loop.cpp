// SPDX-License-Identifier: Apache-2.0
#include "net/event_loop.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <string>
#include <utility>

#include "net/loop_state.hpp"

namespace autopilot::net {

namespace asio = boost::asio;
using boost::system::error_code;

void LoopState::post(std::function<void()> function) {
  const std::lock_guard lock(mutex);
  if (context) asio::post(*context, std::move(function));
}

class Subscription::Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  void cancel() {
    if (!std::exchange(is_active_, false)) return;
    release();
  }
  [[nodiscard]] bool is_active() const { return is_active_; }

 protected:
  virtual void release() = 0;
  void expire() { is_active_ = false; }

 private:
  bool is_active_ = true;
};

namespace {

class TimerSource final : public Subscription::Source, public std::enable_shared_from_this<TimerSource> {
 public:
  TimerSource(asio::io_context& context, std::function<void()> function)
      : timer_(context), function_(std::move(function)) {}

  void start_once(MonoTime time) {
    timer_.expires_at(time);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (error || !self->is_active()) return;
      self->expire();
      std::exchange(self->function_, nullptr)();
    });
  }
  void start_once(Duration delay) {
    timer_.expires_after(delay);
    start_once(timer_.expiry());
  }
  void start_every(Duration period) {
    timer_.expires_after(period);
    timer_.async_wait([self = shared_from_this(), period](error_code error) {
      if (error || !self->is_active()) return;
      self->start_every(period);
      self->function_();
    });
  }

 private:
  void release() override { timer_.cancel(); }

  asio::steady_timer timer_;
  std::function<void()> function_;
};

class SignalSource final : public Subscription::Source, public std::enable_shared_from_this<SignalSource> {
 public:
  SignalSource(asio::io_context& context, std::function<void(int)> function)
      : signals_(context), function_(std::move(function)) {}

  Status add(int signal) {
    error_code error;
    signals_.add(signal, error);
    if (error) return fail_errno(error.value(), "signal " + std::to_string(signal));
    return {};
  }
  void wait() {
    signals_.async_wait([self = shared_from_this()](error_code error, int signal) {
      if (error || !self->is_active()) return;
      self->wait();
      self->function_(signal);
    });
  }

 private:
  void release() override {
    error_code ignored;
    signals_.clear(ignored);
    signals_.cancel(ignored);
  }

  asio::signal_set signals_;
  std::function<void(int)> function_;
};

class DescriptorSource final : public Subscription::Source,
                               public std::enable_shared_from_this<DescriptorSource> {
 public:
  DescriptorSource(asio::io_context& context, std::function<void()> function)
      : descriptor_(context), function_(std::move(function)) {}
  DescriptorSource(const DescriptorSource&) = delete;
  DescriptorSource& operator=(const DescriptorSource&) = delete;
  // The caller owns the descriptor: Asio must not close it.
  ~DescriptorSource() override {
    if (descriptor_.is_open()) descriptor_.release();
  }

  Status watch(int fd) {
    error_code error;
    descriptor_.assign(fd, error);
    if (error) return fail_errno(error.value(), "watch descriptor " + std::to_string(fd));
    return {};
  }
  void wait() {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](error_code error) {
                             if (error || !self->is_active()) return;
                             self->function_();
                             if (self->is_active()) self->wait();
                           });
  }

 private:
  void release() override { descriptor_.release(); }

  asio::posix::stream_descriptor descriptor_;
  std::function<void()> function_;
};

}  // namespace

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    cancel();
    source_ = std::move(other.source_);
  }
  return *this;
}

void Subscription::cancel() {
  if (const auto source = std::exchange(source_, nullptr)) source->cancel();
}

bool Subscription::is_active() const {
  return source_ && source_->is_active();
}

EventLoop::EventLoop() : state_(std::make_shared<LoopState>()) {
  state_->context = std::make_unique<asio::io_context>(1);
}

EventLoop::~EventLoop() {
  std::unique_ptr<asio::io_context> context;
  {
    const std::lock_guard lock(state_->mutex);
    context = std::move(state_->context);
  }
  // Outside the lock: destructors of queued functions can still call post().
  context.reset();
}

void EventLoop::run() {
  {
    const auto work = asio::make_work_guard(*state_->context);
    state_->context->run();
  }
  // After the guard is destroyed: with no work left the context would count as stopped.
  state_->context->restart();
}

void EventLoop::stop() {
  state_->context->stop();
}

void EventLoop::post(std::function<void()> function) {
  state_->post(std::move(function));
}

Subscription EventLoop::at(MonoTime time, std::function<void()> function) {
  auto source = std::make_shared<TimerSource>(*state_->context, std::move(function));
  source->start_once(time);
  return Subscription(std::move(source));
}

Subscription EventLoop::after(Duration delay, std::function<void()> function) {
  auto source = std::make_shared<TimerSource>(*state_->context, std::move(function));
  source->start_once(delay);
  return Subscription(std::move(source));
}

Subscription EventLoop::every(Duration period, std::function<void()> function) {
  AUTOPILOT_ASSERT(period > Duration::zero());
  auto source = std::make_shared<TimerSource>(*state_->context, std::move(function));
  source->start_every(period);
  return Subscription(std::move(source));
}

Result<Subscription> EventLoop::on_signal(const std::vector<int>& signals,
                                          std::function<void(int signal)> function) {
  auto source = std::make_shared<SignalSource>(*state_->context, std::move(function));
  for (const int signal : signals)
    TRY_STATUS(source->add(signal));
  source->wait();
  return Subscription(std::move(source));
}

Result<Subscription> EventLoop::watch_readable(int fd, std::function<void()> function) {
  auto source = std::make_shared<DescriptorSource>(*state_->context, std::move(function));
  TRY_STATUS(source->watch(fd));
  source->wait();
  return Subscription(std::move(source));
}

}  // namespace autopilot::net
