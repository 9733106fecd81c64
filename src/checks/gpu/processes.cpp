// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/gpu/gpu_holders.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace gpu_processes {
namespace {

using namespace host::reading;

// The kernel's own thread number two: only the first PID namespace, that of the machine, shows it.
constexpr std::string_view kKernelThread = "/proc/2/comm";
constexpr std::string_view kKernelThreadName = "kthreadd";
constexpr std::string_view kProc = "/proc";

// About the host: every process of the machine can be seen.
constexpr std::string_view kAllVisible = "processes.all_visible";
// About a GPU: the numbers of those the driver lists and the kernel does not know, or knows as ended.
constexpr std::string_view kEnded = "processes.ended";

// A process that ended and that nobody waited for stays as a zombie; it uses nothing any more.
bool is_ended(const host::Files& files, std::string_view pid) {
  const auto stat = files.read(std::string(kProc) + "/" + std::string(pid) + "/stat");
  if (!stat) return stat.error().code == Errc::not_found;
  const auto task = host::parse_task_state(*stat);
  return task && task->state == 'Z';
}

// The few that are named: a GPU that many share is told by their number.
constexpr std::size_t kMostNamed = 32;

void add_workloads(const host::Files& files, const Observation& told, const std::string& pids,
                   const host::PodNames& pods, Observations& observations) {
  std::size_t named = 0;
  for (const std::string_view word : split_words(pids)) {
    if (named == kMostNamed) return;
    const auto pid = parse_number<std::int64_t>(word);
    if (!pid) continue;
    const auto workload = host::read_workload(files, *pid, pods);
    if (!workload) continue;
    observations.push_back(to_observation(*workload, told.subject, kProc, told.time));
    ++named;
  }
}

std::string ended_among(const host::Files& files, const std::string& pids) {
  std::string ended;
  for (const std::string_view pid : split_words(pids))
    if (is_ended(files, pid)) ended.append(ended.empty() ? "" : " ").append(pid);
  return ended;
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed = TRY(observe_gpus(host, request, {host::GpuGroup::identity, host::GpuGroup::processes}));
  const auto thread = host.files.read_word(kKernelThread);
  const bool all_visible = thread && *thread == kKernelThreadName;
  const host::PodNames pods = host::read_pod_names(host.files);
  Observations more;
  more.push_back(make_observation(kAllVisible, host_subject(), all_visible, "", kProc, request.now));
  if (all_visible) {
    observed.witnesses.emplace_back(kProc);
    for (const Observation& observation : observed.observations) {
      if (observation.name != kProcessPids || !observation.value) continue;
      const std::string pids = to_string(*observation.value);
      more.push_back(make_observation(kEnded, observation.subject, ended_among(host.files, pids), "", kProc,
                                      request.now));
      add_workloads(host.files, observation, pids, pods, more);
    }
  }
  observed.observations.insert(observed.observations.end(), more.begin(), more.end());
  add_holders(host, request, pods, observed);
  return observed;
}

class ProcessesJudge {
 public:
  explicit ProcessesJudge(const JudgeInput& input)
      : input_(input), share_(limit(input, "gpu.processes.unowned_memory_share")) {}

  [[nodiscard]] Findings findings() {
    const std::vector<Subject> gpus = readable_gpus(input_, {kProcesses}, findings_);
    if (!gpus.empty() && !is_true(input_, host_subject(), kAllVisible)) {
      findings_.push_back(make_finding(input_, host_subject(), "not_permitted", Health::unknown,
                                       "processes outside this PID namespace cannot be seen: the agent needs "
                                       "that of the machine (hostPID)"));
      return std::move(findings_);
    }
    for (const Subject& gpu : gpus) {
      judge_owners(gpu);
      judge_memory(gpu);
    }
    return std::move(findings_);
  }

 private:
  void judge_owners(const Subject& gpu) {
    const auto ended = input_.history.word(gpu, kEnded);
    if (!ended || ended->empty()) return;
    findings_.push_back(make_finding(input_, gpu, "gpu_process_ended", Health::degraded,
                                     gpu_text(gpu) + " is still held by what has ended: process " + *ended));
    findings_.back().evidence = {{"pids", *ended}};
  }

  // The instances of a divided GPU have processes of their own that the whole does not always list; AMD's
  // driver lists those that compute, not those that draw.
  void judge_memory(const Subject& gpu) {
    if (is_of_amd(input_, gpu, kProcesses)) return;
    const auto processes = input_.history.number(gpu, kProcesses);
    const auto used = input_.history.number(gpu, kMemoryUsed);
    const auto total = input_.history.number(gpu, kMemoryTotal);
    if (!processes || *processes > 0 || !used || !total || *total <= 0 || is_true(input_, gpu, kMig)) return;
    const double share = *used / *total;
    if (share <= share_.value) return;
    findings_.push_back(make_finding(
        input_, gpu, "gpu_memory_unowned", Health::degraded,
        gpu_text(gpu) + " has " + percent(share) + " of its memory in use, and no process that uses it",
        share, share_));
    findings_.back().evidence.emplace_back("usedBytes", *used);
  }

  const JudgeInput& input_;
  Limit share_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  return ProcessesJudge(input).findings();
}

}  // namespace
}  // namespace gpu_processes

const Check kGpuProcesses = {
    .info = {.id = "gpu.processes",
             .title = "GPU owners",
             .tags = {"gpu", "passive"},
             .period = std::chrono::minutes{1},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{10},
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml), std::string(gpu_processes::kProc), std::string(kKubelet),
                           std::string(kAmdgpu)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_processes::observe,
    .judge = gpu_processes::judge,
};

}  // namespace autopilot::checks
