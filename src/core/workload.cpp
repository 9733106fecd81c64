// SPDX-License-Identifier: Apache-2.0
#include "core/workload.hpp"

#include "core/parse.hpp"
#include "core/workload_fields.hpp"

namespace autopilot {
namespace {

constexpr std::string_view kName = "process.";
constexpr std::size_t kShortId = 12;

std::string to_string(const WorkloadOwner& owner) {
  if (!owner.pod.empty()) return "pod " + owner.pod_namespace + "/" + owner.pod;
  if (!owner.pod_uid.empty()) return "pod " + owner.pod_uid;
  if (!owner.job.empty()) return owner.job;
  if (!owner.container.empty()) return "container " + owner.container.substr(0, kShortId);
  return {};
}

}  // namespace

std::string to_string(const Workload& workload) {
  const std::string pid = std::to_string(workload.pid);
  const std::string process = workload.process.empty() ? pid : workload.process + ", " + pid;
  const std::string owner = to_string(workload.owner);
  return owner.empty() ? "process " + process : owner + " (" + process + ")";
}

Observation to_observation(const Workload& workload, const Subject& gpu, std::string_view source,
                           Instant now) {
  Observation observation;
  observation.name = std::string(kName) + std::to_string(workload.pid);
  observation.subject = gpu;
  observation.value = workload.process;
  observation.source = source;
  observation.time = now;
  observation.attributes.emplace_back("startedTicks", static_cast<std::int64_t>(workload.started_ticks));
  for (const WorkloadField& field : kWorkloadFields)
    if (const std::string& word = workload.owner.*field.member; !word.empty())
      observation.attributes.emplace_back(field.name, word);
  return observation;
}

std::optional<Workload> workload_in(const Observation& observation) {
  if (!observation.name.starts_with(kName) || !observation.value) return std::nullopt;
  const auto pid = parse_number<std::int64_t>(std::string_view(observation.name).substr(kName.size()));
  if (!pid) return std::nullopt;
  Workload workload;
  workload.pid = *pid;
  workload.process = to_string(*observation.value);
  workload.first_seen = workload.last_seen = observation.time.wall;
  if (const Value* ticks = find_attribute(observation.attributes, "startedTicks"))
    workload.started_ticks = static_cast<std::uint64_t>(as_number(*ticks).value_or(0));
  for (const WorkloadField& field : kWorkloadFields)
    if (const Value* word = find_attribute(observation.attributes, field.name))
      workload.owner.*field.member = to_string(*word);
  return workload;
}

}  // namespace autopilot
