// SPDX-License-Identifier: Apache-2.0
#include "core/workload.hpp"

#include "core/parse.hpp"

namespace autopilot {
namespace {

constexpr std::string_view kProcess = "process.";
constexpr std::string_view kPod = "pod.";
constexpr std::size_t kShortId = 12;

std::string text_of(const WorkloadOwner& owner) {
  if (!owner.pod.empty()) return "pod " + owner.pod_namespace + "/" + owner.pod;
  if (!owner.pod_uid.empty()) return "pod " + owner.pod_uid;
  if (!owner.job.empty()) return owner.job;
  if (!owner.container.empty()) return "container " + owner.container.substr(0, kShortId);
  return {};
}

std::string name_of(const Workload& workload) {
  if (workload.is_process()) return std::string(kProcess) + std::to_string(workload.pid);
  return std::string(kPod) + workload.owner.pod_namespace + "/" + workload.owner.pod;
}

void read_owner(const Observation& observation, WorkloadOwner& owner) {
  for (const WorkloadField& field : kWorkloadFields)
    if (const Value* word = find_attribute(observation.attributes, field.name))
      owner.*field.member = to_string(*word);
}

}  // namespace

bool is_same_pod(const WorkloadOwner& a, const WorkloadOwner& b) {
  if (!a.pod_uid.empty() && !b.pod_uid.empty()) return a.pod_uid == b.pod_uid;
  return !a.pod.empty() && a.pod == b.pod && a.pod_namespace == b.pod_namespace;
}

void learn(WorkloadOwner& known, const WorkloadOwner& now) {
  if (!known.pod_uid.empty() && !now.pod_uid.empty() && known.pod_uid != now.pod_uid) {
    known = now;
    return;
  }
  const bool is_certain = known.candidate_by.empty() || now.candidate_by.empty();
  for (const WorkloadField& field : kWorkloadFields)
    if (const std::string& word = now.*field.member; !word.empty()) known.*field.member = word;
  if (is_certain) known.candidate_by.clear();
}

bool Workload::is_same(const Workload& other) const {
  if (pid != other.pid) return false;
  if (!is_process()) return is_same_pod(owner, other.owner);
  return started_ticks == other.started_ticks || started_ticks == 0 || other.started_ticks == 0;
}

std::string to_string(const Workload& workload) {
  const bool is_candidate = !workload.owner.candidate_by.empty();
  if (!workload.is_process())
    return text_of(workload.owner) + (is_candidate ? " (the only one with GPUs)" : "");
  const std::string pid = std::to_string(workload.pid);
  const std::string process = workload.process.empty() ? pid : workload.process + ", " + pid;
  const std::string owner = text_of(workload.owner);
  return owner.empty() ? "process " + process : owner + " (" + process + ")";
}

Observation to_observation(const Workload& workload, const Subject& gpu, std::string_view source,
                           Instant now) {
  Observation observation;
  observation.name = name_of(workload);
  observation.subject = gpu;
  observation.value = workload.is_process() ? workload.process : workload.owner.pod;
  observation.source = source;
  observation.time = now;
  if (workload.is_process())
    observation.attributes.emplace_back("startedTicks", static_cast<std::int64_t>(workload.started_ticks));
  for (const WorkloadField& field : kWorkloadFields)
    if (const std::string& word = workload.owner.*field.member; !word.empty())
      observation.attributes.emplace_back(field.name, word);
  return observation;
}

std::optional<Workload> workload_in(const Observation& observation) {
  const std::string_view name = observation.name;
  if (!observation.value) return std::nullopt;
  Workload workload;
  workload.first_seen = workload.last_seen = observation.time.wall;
  read_owner(observation, workload.owner);
  if (name.starts_with(kPod) && !workload.owner.pod.empty()) return workload;
  if (!name.starts_with(kProcess)) return std::nullopt;
  const auto pid = parse_number<std::int64_t>(name.substr(kProcess.size()));
  if (!pid || *pid == 0) return std::nullopt;
  workload.pid = *pid;
  workload.process = to_string(*observation.value);
  if (const Value* ticks = find_attribute(observation.attributes, "startedTicks"))
    workload.started_ticks = static_cast<std::uint64_t>(as_number(*ticks).value_or(0));
  return workload;
}

}  // namespace autopilot
