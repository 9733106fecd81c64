// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "probes/gpu/nccl/report.hpp"
#include "probes/gpu/nccl/run_all_reduce.hpp"

namespace autopilot::probes::gpu {

// State shared between the measuring thread and the waiting thread.
class AllReduceSlot {
 public:
  explicit AllReduceSlot(AllReduceReport report) : report_(std::move(report)) {}

  Watch watch;
  std::atomic<Stage> stage = Stage::driver;
  std::atomic<double> seconds = 0;     // agreed by all ranks; 0 until then
  std::atomic<bool> is_usage = false;  // the failure is a usage error
  std::atomic<bool> done = false;

  template <class Change>
  void change(const Change& change) {
    const std::scoped_lock lock(mutex_);
    change(report_);
  }
  // The first failure counts, and figures have precedence over a failure or hang after them.
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

// Opens everything, joins the other ranks and measures, until it is done, a step fails or the watch requests
// a stop. The slot has the figures or the failure. Blocks as long as the driver, NCCL or the other ranks do.
// `invite` receives the line for the others if this process creates the id.
void run_all_reduce_worker(const AllReduceOptions& options,
                           const std::function<void(const std::string&)>& invite, AllReduceSlot& slot);

}  // namespace autopilot::probes::gpu
