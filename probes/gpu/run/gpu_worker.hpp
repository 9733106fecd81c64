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

// State shared between the thread of one GPU and the waiting thread.
class GpuSlot {
 public:
  explicit GpuSlot(GpuFacts facts) : facts_(std::move(facts)) { report_.facts = facts_; }

  [[nodiscard]] const GpuFacts& facts() const { return facts_; }

  Watch watch;
  std::atomic<bool> done = false;
  std::atomic<const GpuTest*> test = nullptr;  // running now

  template <class Change>
  void change(const Change& change) {
    const std::scoped_lock lock(mutex_);
    change(report_);
  }
  [[nodiscard]] GpuReport report() const {
    const std::scoped_lock lock(mutex_);
    return report_;
  }
  // Other GPUs must not use it from now on.
  void leave_out(std::string why) {
    const std::scoped_lock lock(mutex_);
    if (!left_out_) left_out_ = std::move(why);
  }
  // Why: the text of leave_out, or the error that ended its own tests.
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

// Runs the tests on one GPU, the `member` of the meeting and of `all`, until they are done, one fails or the
// watch requests a stop. The slot has results and errors. Blocks as long as the driver does. `sensors`: null
// if unavailable.
void run_gpu(const Library& library, const Sensors* sensors, const Options& options, Meeting& meeting,
             std::size_t member, std::span<GpuSlot* const> all);

}  // namespace autopilot::probes::gpu
