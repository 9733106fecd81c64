// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "collect/telemetry/growth.hpp"
#include "core/clock.hpp"
#include "host/files/files.hpp"
#include "host/telemetry/host_counters.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// The columns of the host of one window. Reads /proc, which the kernel answers from memory. For one thread.
class HostTable {
 public:
  // `files` outlives the table.
  explicit HostTable(const host::Files& files) : files_(files) {}

  // A window begins.
  void start(MonoTime now);
  // Once a second.
  void sample();
  // The window ends: appends its columns; a value that is missing has no column. The next window begins.
  void close(MonoTime now, jobs::WindowRecord& window);

 private:
  static constexpr int kWindowsOfDisks = 6;  // for which the list of disks is not read again

  const host::Files& files_;
  std::vector<std::string> disks_;
  int disks_age_ = 0;
  host::HostCounters before_;
  MonoTime begin_{};
  Mean runnable_;
};

}  // namespace autopilot::collect
