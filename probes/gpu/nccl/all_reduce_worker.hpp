// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "probes/gpu/nccl/all_reduce_options.hpp"
#include "probes/gpu/nccl/all_reduce_report.hpp"

namespace autopilot::probes::gpu {

// What the thread that measures shares with who waits for it.
class AllReduceSlot {
 public:
  explicit AllReduceSlot(AllReduceReport report) : report_(std::move(report)) {}

  Watch watch;
  std::atomic<Stage> stage = Stage::driver;
  std::atomic<double> seconds = 0;     // that all ranks agreed on; 0 as long as they have not
  std::atomic<bool> is_usage = false;  // the failure is one of the command line
  std::atomic<bool> done = false;

  template <class Change>
  void change(const Change& change) {
    const std::scoped_lock lock(mutex_);
    change(report_);
  }
  // The first one counts, and what was measured counts more than what ended badly, or hangs, after it.
  void fail(Failure failure) {
    change([&](AllReduceReport& report) {
      if (!report.failure && !report.figures) report.failure = std::move(failure);
    });
  }
  [[nodiscard]] AllReduceReport report() const {
    const std::scoped_lock lock(mutex_);
    return report_;
  }

 private:
  mutable std::mutex mutex_;
  AllReduceReport report_;
};

// Opens everything, joins the others and measures, until it is through, something fails or the watch says
// stop. What was found, or the failure, is in the slot. Blocks as long as the driver, NCCL or the others do.
// `invite` is told the line for the others, where we make the id.
void run_all_reduce_worker(const AllReduceOptions& options,
                           const std::function<void(const std::string&)>& invite, AllReduceSlot& slot);

}  // namespace autopilot::probes::gpu
