// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/run/meeting.hpp"
#include "probes/gpu/run/options.hpp"
#include "probes/gpu/run/report.hpp"

namespace autopilot::probes::gpu {

// What the thread of one GPU shares with who waits for it.
class GpuSlot {
 public:
  explicit GpuSlot(GpuFacts facts) : facts_(std::move(facts)) { report_.facts = facts_; }

  [[nodiscard]] const GpuFacts& facts() const { return facts_; }

  Watch watch;
  std::atomic<bool> done = false;
  std::atomic<const GpuTest*> test = nullptr;  // that runs now

  template <class Change>
  void change(const Change& change) {
    const std::scoped_lock lock(mutex_);
    change(report_);
  }
  [[nodiscard]] GpuReport report() const {
    const std::scoped_lock lock(mutex_);
    return report_;
  }
  // It is to be left alone by others from now on.
  void leave_out(std::string why) {
    const std::scoped_lock lock(mutex_);
    if (!left_out_) left_out_ = std::move(why);
  }
  // Why it is: that, or what ended its own tests.
  [[nodiscard]] std::optional<std::string> why_left_out() const {
    const std::scoped_lock lock(mutex_);
    return report_.error ? report_.error : left_out_;
  }

 private:
  const GpuFacts facts_;
  mutable std::mutex mutex_;
  std::optional<std::string> left_out_;
  GpuReport report_;
};

// Runs the tests on one GPU, the `member` of the meeting and of `all`, until they are through, one fails or
// the watch says stop. What it found, and what went wrong, is in its slot. Blocks as long as the driver does.
// `sensors`: null where there are none.
void run_gpu(const Library& library, const Sensors* sensors, const Options& options, Meeting& meeting,
             std::size_t member, std::span<GpuSlot* const> all);

}  // namespace autopilot::probes::gpu
