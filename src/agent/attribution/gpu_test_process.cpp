// SPDX-License-Identifier: Apache-2.0
#include "agent/attribution/gpu_test_process.hpp"

#include <string_view>

namespace autopilot::agent {

bool is_own_test(const Workload& workload) {
  constexpr std::size_t kLettersOfKernel = 15;  // that it keeps of a name
  return workload.is_process() &&
         workload.process == std::string_view("autopilot-gpu-probe").substr(0, kLettersOfKernel);
}

}  // namespace autopilot::agent
