// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/open_sources.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "agent/jobs/evidence_texts.hpp"
#include "collect/discovery/gpu_holders.hpp"
#include "collect/discovery/job_finder.hpp"
#include "collect/flight_recorder/dump_source.hpp"
#include "collect/progress/heartbeat_source.hpp"
#include "collect/progress/log_source.hpp"
#include "collect/progress/serving_source.hpp"
#include "collect/ras/ras_source.hpp"
#include "collect/telemetry/sampler.hpp"
#include "core/log_parts.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/kubelet/pod_logs.hpp"
#include "host/nccl_ras/ras_helper.hpp"

namespace autopilot::agent {
namespace {

// For the driver, which lists the processes on GPUs.
constexpr Duration kDriverPatience = std::chrono::seconds(5);

// For the first list of pods.
constexpr Duration kPodsPatience = std::chrono::seconds(30);

class ProcessSearch final : public JobSearch {
 public:
  explicit ProcessSearch(JobsMachine machine)
      : machine_(std::move(machine)),
        finder_(machine_.host->files, machine_.node, machine_.processes.get()) {}

  Result<collect::SeenJobs> look(Instant now) override {
    const collect::GpuHolders holders =
        collect::read_gpu_holders(machine_.host->nvidia_gpus, now.mono + kDriverPatience);
    if (!begin_) begin_ = now.mono;
    auto pods = machine_.pods ? machine_.pods->facts() : std::nullopt;
    // A job has another key without the owner of its pods.
    if (machine_.pods && !pods && now.mono - *begin_ < kPodsPatience)
      return fail(Errc::unavailable, "the API server has not listed the pods of this node yet");
    return finder_.look(holders, pods.value_or(collect::PodFactsByUid{}), now.wall);
  }
  std::vector<jobs::JobEndRecord> take_ended() override { return finder_.take_ended(); }

 private:
  JobsMachine machine_;
  collect::JobFinder finder_;
  std::optional<MonoTime> begin_;  // of the first search
};

// As a reader that wants nothing afterwards: what it does not read then is not lost, and not kept for it.
Result<std::string> read_kernel_log(const host::Host& host, MonoTime deadline) {
  const auto read = [&](LogParts parts) {
    return host.kernel_log.read_if(0, deadline, {.reader = "evidence", .parts = parts, .holds = {}});
  };
  const host::KernelRecords records = TRY(read(LogParts::all));
  TRY_STATUS(read(LogParts::none));
  return kernel_log_text(records);
}

// Without the API server no end of a pod is waited for.
std::function<std::optional<collect::PodEnd>(const std::string&)> pod_end_of(const JobsMachine& machine) {
  if (!machine.pods) return {};
  return [pods = machine.pods](const std::string& uid) { return pods->end(uid); };
}

// For the helper, which opens a log of a pod.
constexpr Duration kLogPatience = std::chrono::seconds(1);

collect::LogOptions log_options_of(const JobsMachine& machine, const config::Config& config) {
  collect::LogOptions options{.step_pattern = config.jobs.step_pattern, .pod_end = pod_end_of(machine)};
  if (!machine.kubelet_socket.empty())
    options.open_log = [socket = machine.kubelet_socket](const std::string& path) {
      return host::ask_pod_log(socket, path, host::mono_now() + kLogPatience);
    };
  return options;
}

collect::ServingOptions serving_options_of(const JobsMachine& machine, const config::Config& config) {
  collect::ServingOptions options;
  options.port = static_cast<std::uint16_t>(config.jobs.metrics_port);
  if (machine.pods)
    options.pod_address = [pods = machine.pods](const std::string& uid) { return pods->address(uid); };
  return options;
}

// What was read once of each process: its initial environment does not change. An environment that cannot be
// read is read again at the next call.
class EnvironmentCache {
 public:
  static constexpr std::size_t kMost = 4096;

  explicit EnvironmentCache(std::shared_ptr<const host::ProcessReader> reader) : reader_(std::move(reader)) {}

  collect::RankEnvironment of(const collect::RankProcess& process) {
    const Key key{process.pid, process.started_ticks};
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    auto read = collect::read_rank_environment(process, reader_.get());
    if (!read) return {};
    if (known_.size() >= kMost) known_.clear();
    return known_.emplace(key, std::move(*read)).first->second;
  }

 private:
  using Key = std::pair<std::int64_t, std::uint64_t>;
  std::shared_ptr<const host::ProcessReader> reader_;
  std::map<Key, collect::RankEnvironment> known_;
};

// A simulated machine and what it gets of this one.
struct MixedHost {
  explicit MixedHost(std::shared_ptr<const host::Host> simulated)
      : devices(std::move(simulated)),
        host{.clock = devices->clock,
             .files = files,
             .kernel_log = devices->kernel_log,
             .nvidia_gpus = devices->nvidia_gpus,
             .filesystems = devices->filesystems,
             .ethernet = devices->ethernet,
             .time_sync = devices->time_sync,
             .nvme = devices->nvme,
             .spared_adapters = devices->spared_adapters,
             .amd_gpus = devices->amd_gpus,
             .kubelet = devices->kubelet,
             .name_servers = devices->name_servers,
             .ethtool = devices->ethtool,
             .tests = devices->tests,
             .gpu_scan = devices->gpu_scan} {}

  std::shared_ptr<const host::Host> devices;
  host::Files files;
  host::Host host;
};

}  // namespace

std::shared_ptr<const host::Host> with_processes_of_this_machine(
    std::shared_ptr<const host::Host> simulated) {
  const auto mixed = std::make_shared<MixedHost>(std::move(simulated));
  return {mixed, &mixed->host};
}

std::unique_ptr<JobSearch> open_job_search(const JobsMachine& machine) {
  return std::make_unique<ProcessSearch>(machine);
}

std::vector<JobSource> open_job_sources(const JobsMachine& machine, const config::Config& config) {
  const auto environments = std::make_shared<EnvironmentCache>(machine.processes);
  const collect::EnvironmentOf environment_of = [environments](const collect::RankProcess& process) {
    return environments->of(process);
  };
  const auto ras = std::make_shared<host::RasAccess>(host::helper_command("ras"), machine.helper_socket);
  std::vector<JobSource> sources;
  sources.push_back({"telemetry", std::make_unique<collect::Sampler>(
                                      machine.host, collect::SamplerOptions{.node = machine.node,
                                                                            .leaf = config.network.leaf,
                                                                            .idle_w = {},
                                                                            .spin_w = {},
                                                                            .busy_w = {},
                                                                            .reader = machine.processes})});
  sources.push_back({"logs", std::make_unique<collect::LogSource>(log_options_of(machine, config))});
  if (const std::string folder = config.heartbeat_path(); !folder.empty())
    sources.push_back({"heartbeats", std::make_unique<collect::HeartbeatSource>(
                                         collect::HeartbeatOptions{.folder = folder})});
  sources.push_back({"NCCL RAS", std::make_unique<collect::RasSource>(
                                     [ras](const host::RasTarget& target, MonoTime deadline) {
                                       return ras->ask(target, deadline);
                                     },
                                     environment_of, collect::RasSettings{.node = machine.node})});
  sources.push_back(
      {"flight recorder", std::make_unique<collect::DumpSource>(environment_of, collect::DumpSettings{})});
  sources.push_back({"metrics of inference servers",
                     std::make_unique<collect::ServingSource>(serving_options_of(machine, config))});
  return sources;
}

// Without the caches of the sources, which belong to another thread.
collect::EvidenceSources open_evidence_sources(const JobsMachine& machine) {
  const auto ras = std::make_shared<host::RasAccess>(host::helper_command("ras"), machine.helper_socket);
  return {
      .ask_ras = [ras](const host::RasTarget& target,
                       MonoTime deadline) { return ras->ask(target, deadline); },
      .environment_of =
          [reader = machine.processes](const collect::RankProcess& process) {
            return collect::read_rank_environment(process, reader.get()).value_or(collect::RankEnvironment{});
          },
      .host = machine.host,
      .telemetry = {},
      .kernel_log = [host = machine.host](MonoTime deadline) { return read_kernel_log(*host, deadline); }};
}

}  // namespace autopilot::agent
