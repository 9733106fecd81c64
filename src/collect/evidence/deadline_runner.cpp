// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/deadline_runner.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace autopilot::collect {

struct DeadlineRunner::Count {
  std::atomic<int> abandoned = 0;
};

std::shared_ptr<DeadlineRunner::Count> DeadlineRunner::make_count() {
  return std::make_shared<Count>();
}

int DeadlineRunner::abandoned() const {
  return count_->abandoned;
}

namespace {

// One call. The last of its two threads frees it.
struct Call {
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<Result<std::string>> result;
  bool is_abandoned = false;
};

}  // namespace

Result<std::string> DeadlineRunner::run(std::function<Result<std::string>()> work, MonoTime deadline) {
  if (count_->abandoned >= kMaxAbandoned)
    return fail(Errc::exhausted, std::to_string(kMaxAbandoned) + " earlier calls hang in the kernel");
  const auto call = std::make_shared<Call>();
  std::thread([call, work = std::move(work), count = count_] {
    auto result = work();
    const std::lock_guard lock(call->mutex);
    if (call->is_abandoned) --count->abandoned;
    call->result = std::move(result);
    call->ended.notify_all();
  }).detach();
  std::unique_lock lock(call->mutex);
  const auto until = std::chrono::steady_clock::time_point(deadline.time_since_epoch());
  if (call->ended.wait_until(lock, until, [&] { return call->result.has_value(); }))
    return std::move(*call->result);
  call->is_abandoned = true;
  ++count_->abandoned;
  return fail(Errc::timed_out, "no answer in time");
}

}  // namespace autopilot::collect
