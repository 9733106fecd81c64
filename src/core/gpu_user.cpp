// SPDX-License-Identifier: Apache-2.0
#include "core/gpu_user.hpp"

#include "core/parse.hpp"

namespace autopilot {
namespace {

constexpr std::string_view kProcess = "process.";
constexpr std::string_view kPod = "pod.";
constexpr std::size_t kShortId = 12;

std::string text_of(const GpuUserOwner& owner) {
  if (!owner.pod.empty()) return "pod " + owner.pod_namespace + "/" + owner.pod;
  if (!owner.pod_uid.empty()) return "pod " + owner.pod_uid;
  if (!owner.job.empty()) return owner.job;
  if (!owner.container.empty()) return "container " + owner.container.substr(0, kShortId);
  return {};
}

std::string name_of(const GpuUser& gpu_user) {
  if (gpu_user.is_process()) return std::string(kProcess) + std::to_string(gpu_user.pid);
  return std::string(kPod) + gpu_user.owner.pod_namespace + "/" + gpu_user.owner.pod;
}

void read_owner(const Observation& observation, GpuUserOwner& owner) {
  for (const GpuUserField& field : kGpuUserFields)
    if (const Value* word = find_attribute(observation.attributes, field.name))
      owner.*field.member = to_string(*word);
}

}  // namespace

bool is_same_pod(const GpuUserOwner& a, const GpuUserOwner& b) {
  if (!a.pod_uid.empty() && !b.pod_uid.empty()) return a.pod_uid == b.pod_uid;
  return !a.pod.empty() && a.pod == b.pod && a.pod_namespace == b.pod_namespace;
}

void learn(GpuUserOwner& known, const GpuUserOwner& now) {
  if (!known.pod_uid.empty() && !now.pod_uid.empty() && known.pod_uid != now.pod_uid) {
    known = now;
    return;
  }
  const bool is_certain = known.candidate_by.empty() || now.candidate_by.empty();
  for (const GpuUserField& field : kGpuUserFields)
    if (const std::string& word = now.*field.member; !word.empty()) known.*field.member = word;
  if (is_certain) known.candidate_by.clear();
}

bool GpuUser::is_same(const GpuUser& other) const {
  if (pid != other.pid) return false;
  if (!is_process()) return is_same_pod(owner, other.owner);
  return started_ticks == other.started_ticks || started_ticks == 0 || other.started_ticks == 0;
}

std::string to_string(const GpuUser& gpu_user) {
  const bool is_candidate = !gpu_user.owner.candidate_by.empty();
  if (!gpu_user.is_process())
    return text_of(gpu_user.owner) + (is_candidate ? " (the only one with GPUs)" : "");
  const std::string pid = std::to_string(gpu_user.pid);
  const std::string process = gpu_user.process.empty() ? pid : gpu_user.process + ", " + pid;
  const std::string owner = text_of(gpu_user.owner);
  return owner.empty() ? "process " + process : owner + " (" + process + ")";
}

Observation to_observation(const GpuUser& gpu_user, const Subject& gpu, std::string_view source,
                           Instant now) {
  Observation observation;
  observation.name = name_of(gpu_user);
  observation.subject = gpu;
  observation.value = gpu_user.is_process() ? gpu_user.process : gpu_user.owner.pod;
  observation.source = source;
  observation.time = now;
  if (gpu_user.is_process())
    observation.attributes.emplace_back("startedTicks", static_cast<std::int64_t>(gpu_user.started_ticks));
  for (const GpuUserField& field : kGpuUserFields)
    if (const std::string& word = gpu_user.owner.*field.member; !word.empty())
      observation.attributes.emplace_back(field.name, word);
  return observation;
}

std::optional<GpuUser> gpu_user_in(const Observation& observation) {
  const std::string_view name = observation.name;
  if (!observation.value) return std::nullopt;
  GpuUser gpu_user;
  gpu_user.first_seen = gpu_user.last_seen = observation.time.wall;
  read_owner(observation, gpu_user.owner);
  if (name.starts_with(kPod) && !gpu_user.owner.pod.empty()) return gpu_user;
  if (!name.starts_with(kProcess)) return std::nullopt;
  const auto pid = parse_number<std::int64_t>(name.substr(kProcess.size()));
  if (!pid || *pid == 0) return std::nullopt;
  gpu_user.pid = *pid;
  gpu_user.process = to_string(*observation.value);
  if (const Value* ticks = find_attribute(observation.attributes, "startedTicks"))
    gpu_user.started_ticks = static_cast<std::uint64_t>(as_number(*ticks).value_or(0));
  return gpu_user;
}

}  // namespace autopilot
