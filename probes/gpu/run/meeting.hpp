// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

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

}  // namespace autopilot::probes::gpu
