// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "core/gpu_user.hpp"
#include "core/parse.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace gpu_processes {
namespace {

using namespace host::reading;

// The kernel's own thread number two: only the first PID namespace, that of the machine, shows it.
constexpr std::string_view kKernelThread = "/proc/2/comm";
constexpr std::string_view kKernelThreadName = "kthreadd";
constexpr std::string_view kProc = "/proc";
constexpr std::string_view kKubelet = "kubelet";
// About the host: the pods that hold a GPU of this machine; missing if the kubelet does not answer.
constexpr std::string_view kPodsHolding = "pods.holding_gpus";
// About the host: devices of pods that are not known GPUs: other devices, or an unknown id.
constexpr std::string_view kPodsOther = "pods.other_devices";

// About the host: every process of the machine is visible.
constexpr std::string_view kAllVisible = "processes.all_visible";
// About a GPU: pids that the driver lists, although the process ended.
constexpr std::string_view kEnded = "processes.ended";

// A zombie has ended and uses nothing.
bool is_ended(const host::Files& files, std::string_view pid) {
  const auto stat = files.read(std::string(kProc) + "/" + std::string(pid) + "/stat");
  if (!stat) return stat.error().code == Errc::not_found;
  const auto task = host::parse_task_state(*stat);
  return task && task->state == 'Z';
}

// Limit of processes that are listed by name; the others are only counted.
constexpr std::size_t kMostNamed = 32;

void add_gpu_users(const host::Files& files, const Observation& listed, const std::string& pids,
                   const host::PodNames& pods, Observations& observations) {
  std::size_t named = 0;
  for (const std::string_view word : split_words(pids)) {
    if (named == kMostNamed) return;
    const auto pid = parse_number<std::int64_t>(word);
    if (!pid) continue;
    const auto gpu_user = host::read_gpu_user(files, *pid, pods);
    if (!gpu_user) continue;
    observations.push_back(to_observation(*gpu_user, listed.subject, kProc, listed.time));
    ++named;
  }
}

std::string ended_among(const host::Files& files, const std::string& pids) {
  std::string ended;
  for (const std::string_view pid : split_words(pids))
    if (is_ended(files, pid)) ended.append(ended.empty() ? "" : " ").append(pid);
  return ended;
}

// Leaves time to kill the helper within the deadline of the run.
constexpr Duration kReserve = std::chrono::seconds{1};

// The GPUs of a run, and the instances of divided ones, by the names that device plugins use.
class KnownGpus {
 public:
  // `in_pci`: NVIDIA's GPUs in the PCI tree, including GPUs that the driver does not list.
  KnownGpus(const Observations& observations, const Result<std::vector<host::PciDevice>>& in_pci) {
    for (const Observation& observation : observations) {
      if (observation.subject.kind == SubjectKind::gpu) add(observation);
      if (observation.name == kGpuInstance) instances_.emplace(observation.subject.uuid, observation.subject);
    }
    if (!in_pci) return;
    for (const host::PciDevice& gpu : *in_pci)
      if (!by_address_.contains(gpu.address)) has_unlisted_ = true;
  }

  [[nodiscard]] const Subject* find(const host::NamedGpu& named) const {
    if (!named.uuid.empty()) return find_in(by_uuid_, named.uuid);
    if (named.minor) return find_in(by_minor_, *named.minor);
    if (!named.instance_uuid.empty()) return instance(named.instance_uuid);
    return find_in(by_address_, named.pci_address);
  }

 private:
  template <class Map, class Key>
  static const Subject* find_in(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }

  [[nodiscard]] const Subject* instance(const std::string& uuid) const {
    const Subject* known = find_in(instances_, uuid);
    return known != nullptr ? known : only_divided();
  }

  // An instance that the driver does not list: if exactly one GPU is divided and all others are known to be
  // undivided, the instance belongs to that GPU.
  [[nodiscard]] const Subject* only_divided() const {
    const bool all_known = !has_unlisted_ && divided_.size() + undivided_.size() == by_address_.size();
    return all_known && divided_.size() == 1 ? &*divided_.begin() : nullptr;
  }

  void add(const Observation& observation) {
    const Subject& gpu = observation.subject;
    by_address_.emplace(gpu.key, gpu);
    if (!gpu.uuid.empty()) by_uuid_.emplace(gpu.uuid, gpu);
    note_division(observation);
    if (observation.name != host::reading::kMinor || !observation.value) return;
    if (const auto minor = as_number(*observation.value)) by_minor_.emplace(static_cast<int>(*minor), gpu);
  }

  // A GPU that could not be read is neither divided nor undivided.
  void note_division(const Observation& observation) {
    const bool is_amd = observation.name == kGpuState && observation.source == kAmdgpu;
    const bool is_reported =
        observation.name == host::reading::kMig && (observation.value || is_not_offered(observation.missing));
    if (!is_amd && !is_reported) return;
    const bool is_divided = observation.name == host::reading::kMig && observation.value &&
                            as_number(*observation.value).value_or(0) != 0;
    (is_divided ? divided_ : undivided_).insert(observation.subject);
  }

  std::map<std::string, Subject, std::less<>> by_address_;
  std::map<std::string, Subject, std::less<>> by_uuid_;
  std::map<int, Subject> by_minor_;
  std::map<std::string, Subject, std::less<>> instances_;
  std::set<Subject> divided_;
  std::set<Subject> undivided_;
  bool has_unlisted_ = false;
};

// The kubelet does not report the UID. The folders of its logs do, unless an earlier pod had the same name.
std::string uid_of(const host::HeldDevices& held, const host::PodNames& pods) {
  const std::string* found = nullptr;
  for (const auto& [uid, name] : pods) {
    if (name.first != held.pod_namespace || name.second != held.pod) continue;
    if (found != nullptr) return {};
    found = &uid;
  }
  return found == nullptr ? std::string{} : *found;
}

GpuUser holder_of(const host::HeldDevices& held, const host::PodNames& pods) {
  GpuUser holder;
  holder.owner.pod_namespace = held.pod_namespace;
  holder.owner.pod = held.pod;
  holder.owner.pod_uid = uid_of(held, pods);
  return holder;
}

// "<namespace>/<pod>"
using HolderName = std::string;

struct Holders {
  std::map<std::pair<Subject, HolderName>, GpuUser> of_gpus;
  std::map<HolderName, GpuUser> pods;
  std::size_t other_devices = 0;
};

Holders holders_of(const host::PodResources& resources, const KnownGpus& gpus, const host::PodNames& names) {
  Holders holders;
  holders.other_devices = resources.left_out;
  for (const host::HeldDevices& held : resources.held) {
    for (const std::string& id : held.ids) {
      const auto named = host::gpu_named_by(held.resource, id);
      const Subject* gpu = named ? gpus.find(*named) : nullptr;
      if (gpu == nullptr) {
        ++holders.other_devices;
        continue;
      }
      const HolderName name = held.pod_namespace + "/" + held.pod;
      const auto [pod, is_new] = holders.pods.try_emplace(name);
      if (is_new) pod->second = holder_of(held, names);
      holders.of_gpus.try_emplace({*gpu, name}, pod->second);
    }
  }
  return holders;
}

// Adds the pods that hold the GPUs, as the kubelet reports them: one observation for each pod
// (core/gpu_user.hpp) about the GPU, or about the part of it that the pod holds. Adds nothing without a
// kubelet. An error of the kubelet becomes a missing observation: the rest of the run remains valid.
void add_holders(const host::Host& host, const Request& request, const host::PodNames& pods,
                 Observed& observed) {
  auto& seen = observed.observations;
  const auto resources = host.kubelet.pod_resources(request.deadline - kReserve);
  if (!resources) {
    if (resources.error().code != Errc::not_found)
      seen.push_back(missing_observation(kPodsHolding, host_subject(), to_string(resources.error().code), "",
                                         kKubelet, request.now));
    return;
  }
  observed.witnesses.emplace_back(kKubelet);
  const KnownGpus gpus(seen, host.gpu_scan.gpus(host::GpuVendor::nvidia));
  const Holders holders = holders_of(*resources, gpus, pods);
  for (const auto& [gpu_and_name, holder] : holders.of_gpus)
    seen.push_back(to_observation(holder, gpu_and_name.first, kKubelet, request.now));
  const auto count = [](std::size_t number) { return Value{static_cast<std::int64_t>(number)}; };
  seen.push_back(
      make_observation(kPodsHolding, host_subject(), count(holders.pods.size()), "", kKubelet, request.now));
  seen.push_back(
      make_observation(kPodsOther, host_subject(), count(holders.other_devices), "", kKubelet, request.now));
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
      add_gpu_users(host.files, observation, pids, pods, more);
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
      findings_.push_back(
          make_finding(input_, host_subject(), "not_permitted", Health::unknown,
                       "processes outside of this PID namespace are not visible: the agent needs "
                       "the machine's PID namespace (hostPID)"));
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
    findings_.push_back(
        make_finding(input_, gpu, "gpu_process_ended", Health::degraded,
                     gpu_text(gpu) + " is still held by processes that have ended: pid " + *ended));
    findings_.back().evidence = {{"pids", *ended}};
  }

  // The driver does not always list the processes of the instances of a divided GPU. AMD's driver lists
  // compute processes, not graphics processes.
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
        gpu_text(gpu) + " has " + percent(share) + " of its memory in use, but no process uses it", share,
        share_));
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
             .witnesses = {std::string(kNvml), std::string(gpu_processes::kProc),
                           std::string(gpu_processes::kKubelet), std::string(kAmdgpu)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_processes::observe,
    .judge = gpu_processes::judge,
};

}  // namespace autopilot::checks
