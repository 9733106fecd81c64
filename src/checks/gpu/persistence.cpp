// SPDX-License-Identifier: Apache-2.0
#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_persistence {
namespace {

using namespace host::reading;

constexpr std::string_view kPidFile = "/run/nvidia-persistenced/nvidia-persistenced.pid";
// About the host: the PID file of the daemon that keeps the mode on exists. A container does not see it.
constexpr std::string_view kDaemon = "persistence.daemon";

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed = TRY(observe_gpus(host, request, {host::GpuGroup::identity}, Vendors::nvidia));
  if (host.files.exists(kPidFile)) {
    observed.observations.push_back(
        make_observation(kDaemon, host_subject(), true, "", kPidFile, request.now));
    observed.witnesses.emplace_back(kPidFile);
  }
  return observed;
}

std::string daemon_text(const JudgeInput& input) {
  return is_true(input, host_subject(), kDaemon) ? "although nvidia-persistenced runs"
                                                 : "and no nvidia-persistenced was found";
}

// One finding for the host if it is off on all GPUs, because that has one cause.
Findings judge(const JudgeInput& input) {
  Findings findings;
  const std::vector<Subject> gpus = readable_gpus(input, {kPersistence}, findings);
  std::vector<Subject> off;
  for (const Subject& gpu : gpus)
    if (!is_true(input, gpu, kPersistence)) off.push_back(gpu);
  if (off.size() == gpus.size() && off.size() > 1) {
    findings.push_back(make_finding(
        input, host_subject(), "persistence_off", Health::degraded,
        "persistence mode is off on all " + std::to_string(off.size()) + " GPUs, " + daemon_text(input)));
    return findings;
  }
  for (const Subject& gpu : off)
    findings.push_back(make_finding(input, gpu, "persistence_off", Health::degraded,
                                    gpu_text(gpu) + " has persistence mode off, " + daemon_text(input)));
  return findings;
}

}  // namespace
}  // namespace gpu_persistence

const Check kGpuPersistence = {
    .info = {.id = "gpu.persistence",
             .title = "GPU persistence mode",
             .tags = {"gpu", "configuration", "passive"},
             .period = std::chrono::minutes{5},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{10},
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml), std::string(gpu_persistence::kPidFile)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_persistence::observe,
    .judge = gpu_persistence::judge,
};

}  // namespace autopilot::checks
