// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/run/options.hpp"
#include "probes/gpu/run/report.hpp"

namespace autopilot::probes::gpu {

// Barrier for the threads of several GPUs, so that all load starts at once. It does not wait for members that
// have left or hang. Thread-safe.
class Meeting {
 public:
  explicit Meeting(std::size_t members) : present_(members, true), arrived_(members, false) {}

  // Returns when all present members have called it. False: this member was removed meanwhile.
  [[nodiscard]] bool meet(std::size_t member);
  void leave(std::size_t member);

 private:
  void open_when_complete();

  std::mutex mutex_;
  std::condition_variable opened_;
  std::vector<bool> present_;
  std::vector<bool> arrived_;
  std::size_t round_ = 0;
};

// Restricts the calling thread to the processors next to a PCI device ("0000:3b:00.0"), so that its pinned
// memory is local as well; returns the number of their NUMA node. nullopt, without a change, if `sysfs` has
// no data or the kernel refuses.
[[nodiscard]] std::optional<int> stay_near(const std::string& pci_address, const std::string& sysfs = "/sys");

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
