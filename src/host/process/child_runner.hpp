// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "host/process/child.hpp"

namespace autopilot::host {

enum class ChildEnd : std::uint8_t { exited, signalled, timed_out, cancelled };

struct ChildReport {
  ChildEnd end = ChildEnd::exited;
  ChildStatus status;               // meaningless when abandoned
  bool was_abandoned = false;       // it hangs in the kernel and could not be killed
  std::string output;               // standard output, at most RunLimits::output_bytes
  std::string errors;               // standard error, likewise
  std::uint64_t dropped_bytes = 0;  // of both, beyond the limit
};

struct RunLimits {
  static constexpr std::size_t kMaxLine = 64 * 1024;

  std::size_t output_bytes = std::size_t{1} << 20;  // kept of each stream; the rest is read and counted
  Duration grace = std::chrono::seconds{2};         // from SIGTERM to SIGKILL
  Duration patience = std::chrono::seconds{1};      // from SIGKILL to giving up
};

// Each whole line of standard output while the child runs, without its end, cut at RunLimits::kMaxLine.
// Called on the thread of run().
using LineHandler = std::function<void(std::string_view line)>;

// Runs programs to their end and never waits for what cannot end. Thread-safe.
class ChildRunner {
 public:
  // At the deadline, or when stop is requested, the whole process group gets SIGTERM, after the grace
  // SIGKILL. An error: the program could not be started; anything it does afterwards is a report.
  [[nodiscard]] Result<ChildReport> run(const Command& command, MonoTime deadline,
                                        const RunLimits& limits = {}, const std::stop_token& stop = {},
                                        const LineHandler& on_line = {});
  // Children given up that have not ended yet.
  [[nodiscard]] std::size_t abandoned();

 private:
  std::mutex mutex_;
  std::vector<Child> abandoned_;
};

}  // namespace autopilot::host
