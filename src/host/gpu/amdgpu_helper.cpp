// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/amdgpu_helper.hpp"

#include <string_view>

#include "host/clock/system_clock.hpp"
#include "host/gpu/amd_gpus.hpp"
#include "host/gpu/gpu_report.hpp"
#include "host/helpers/helper_server.hpp"

namespace autopilot::host {

int run_amdgpu_helper(int fd, const std::string& root) {
  const SystemClock clock;
  const Files files(root);
  const AmdGpus gpus(files, clock);
  return serve(fd, {{"read", [&gpus](std::string_view params, MonoTime deadline) -> Result<std::string> {
                       const GpuQuestion question = TRY(parse_gpu_question(params));
                       return format_gpu_report(TRY(gpus.read(question.groups, deadline)));
                     }}});
}

}  // namespace autopilot::host
