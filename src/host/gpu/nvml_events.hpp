// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/nvml_library.hpp"

namespace autopilot::host {

// The Xids that NVML tells who registered for them. NVML tells only what happens afterwards, so one must
// listen long before one wants to know: what comes is kept here until somebody asks. One thread.
class NvmlEvents {
 public:
  static constexpr int kMaxAtOnce = 256;     // taken over by one drain()
  static constexpr std::size_t kMost = 256;  // kept; of more that say the same the newest replaces the last
  static constexpr std::size_t kMostAlike = 4;
  // Older ones were told by the kernel log, or nobody missed them.
  static constexpr Duration kKeptFor = std::chrono::minutes{2};

  explicit NvmlEvents(const Clock& clock) : clock_(clock) {}

  // Registers for all GPUs of an initialised library; nothing is done where that has succeeded before. An
  // error where not one GPU can be listened to.
  Status listen(NvmlLibrary& library);
  // The session of the library has ended; what was heard stays.
  void end();
  // Takes over what has happened, without waiting: one call of the library more than there are events.
  // Nothing is done, and no error, while nobody listens.
  Status drain(NvmlLibrary& library);
  // What was heard in the last kKeptFor, oldest first, each event once.
  [[nodiscard]] std::vector<GpuEvent> take();

 private:
  void add(GpuEvent event);

  const Clock& clock_;
  nvml::EventSet set_ = nullptr;
  std::map<nvml::Device, std::string> addresses_;  // of those listened to
  MonoTime drained_{};
  std::deque<GpuEvent> heard_;
};

}  // namespace autopilot::host
