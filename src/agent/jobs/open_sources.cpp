// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/open_sources.hpp"

#include <utility>

#include "collect/discovery/job_finder.hpp"

namespace autopilot::agent {
namespace {

// For the driver, which lists the processes on GPUs.
constexpr Duration kDriverPatience = std::chrono::seconds(5);

class ProcessSearch final : public JobSearch {
 public:
  explicit ProcessSearch(JobsMachine machine)
      : machine_(std::move(machine)), finder_(*machine_.processes, machine_.node) {}

  Result<collect::SeenJobs> look(Instant now) override {
    collect::GpuHolders holders =
        collect::read_gpu_holders(machine_.host->nvidia_gpus, now.mono + kDriverPatience);
    return finder_.look(holders, {}, now.wall);
  }
  std::vector<jobs::JobEndRecord> take_ended() override { return finder_.take_ended(); }

 private:
  JobsMachine machine_;
  collect::JobFinder finder_;
};

}  // namespace

std::unique_ptr<JobSearch> open_job_search(const JobsMachine& machine) {
  return std::make_unique<ProcessSearch>(machine);
}

std::vector<JobSource> open_job_sources(const JobsMachine& /*machine*/, const config::Config& /*config*/) {
  std::vector<JobSource> sources;
  return sources;
}

}  // namespace autopilot::agent
