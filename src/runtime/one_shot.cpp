// SPDX-License-Identifier: Apache-2.0
#include "runtime/one_shot.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace autopilot::runtime {
namespace {

// Lets the calling thread sleep until a worker has a result.
class WakeUp {
 public:
  void wake() {
    const std::lock_guard lock(mutex_);
    awake_ = true;
    changed_.notify_one();
  }
  void wait(Duration at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [this] { return awake_; });
    awake_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool awake_ = false;
};

}  // namespace

SnapshotPtr look_once(std::shared_ptr<const host::Host> host, const catalog::Catalog& facts,
                      std::span<const checks::Check> checks, OneShot request) {
  const Clock& clock = host->clock;
  const auto wake_up = std::make_shared<WakeUp>();
  Outlets outlets;
  outlets.wake = [wake_up] { wake_up->wake(); };
  request.options.has_hysteresis = false;
  Remembered remembered;
  remembered.last_samples = std::move(request.last_samples);
  Runtime runtime(std::move(host), facts, checks, std::move(request.options), std::move(request.settings),
                  outlets, std::move(remembered));

  const auto poll_until = [&](MonoTime end, const auto& done) {
    while (true) {
      const MonoTime next = runtime.poll();
      const MonoTime now = clock.now().mono;
      if (done() || now >= end) return;
      wake_up->wait(std::max(std::min(next, end) - now, Duration{std::chrono::microseconds{100}}));
    }
  };
  poll_until(MonoTime::max(), [&runtime] { return runtime.has_run_once(); });

  const auto runs_twice = [&request](const checks::Check& check) {
    return check.info.needs_window || (request.watches_growth && check.info.judges_growth);
  };
  if (std::any_of(checks.begin(), checks.end(), runs_twice) && request.window > Duration{0}) {
    poll_until(clock.now().mono + request.window, [] { return false; });
    std::size_t waiting = 0;
    for (const checks::Check& check : checks)
      if (runs_twice(check) && runtime.run_now(check.info.id, [&waiting](const CheckResult&) { --waiting; }))
        ++waiting;
    poll_until(MonoTime::max(), [&waiting] { return waiting == 0; });
  }
  runtime.stop();
  (void)runtime.poll();
  return runtime.snapshot();
}

}  // namespace autopilot::runtime
