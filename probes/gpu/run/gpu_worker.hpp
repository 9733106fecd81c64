// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <span>

#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/run/meeting.hpp"
#include "probes/gpu/run/options.hpp"
#include "probes/gpu/run/report.hpp"

namespace autopilot::probes::gpu {

// What the thread of one GPU shares with who waits for it.
class GpuSlot {
 public:
  explicit GpuSlot(GpuFacts facts) { report_.facts = std::move(facts); }

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

 private:
  mutable std::mutex mutex_;
  GpuReport report_;
};

// Runs the tests on one GPU, the `member` of the meeting and of `all`, until they are through, one fails or
// the watch says stop. What it found, and what went wrong, is in the slot. Blocks as long as the driver does.
// `sensors`: null where there are none.
void run_gpu(const Library& library, const Sensors* sensors, const Options& options, Meeting& meeting,
             std::size_t member, std::span<const GpuFacts> all, GpuSlot& slot);

}  // namespace autopilot::probes::gpu
