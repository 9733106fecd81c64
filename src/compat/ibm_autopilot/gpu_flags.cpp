// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/gpu_flags.hpp"

#include <algorithm>
#include <map>

namespace autopilot::compat::ibm_autopilot {
namespace {

using Gpus = std::map<Subject, std::optional<bool>>;

// Adds the GPUs that have findings of that health.
void add_named(const CheckResult& result, Health health, Gpus& gpus) {
  for (const Finding& finding : result.findings)
    if (finding.subject.kind == SubjectKind::gpu && finding.health == health)
      gpus.try_emplace(finding.subject);
}

// The GPUs of the question, before any value is read.
Gpus asked_gpus(const NodeSnapshot& snapshot, const CheckResult& result, const GpuQuestion& question) {
  Gpus gpus;
  for (const Observation& observation : result.observations)
    if (observation.subject.kind == SubjectKind::gpu &&
        std::ranges::find(question.readings, observation.name.text()) != question.readings.end())
      gpus.try_emplace(observation.subject);
  add_named(result, Health::unknown, gpus);
  if (const CheckResult* present = find_result(snapshot, "gpu.present"))
    add_named(*present, Health::failed, gpus);
  return gpus;
}

}  // namespace

GpuFlags::GpuFlags(const NodeSnapshot& snapshot, const GpuQuestion& question) {
  const CheckResult* result = find_result(snapshot, question.check);
  if (result == nullptr) return;
  auto gpus = asked_gpus(snapshot, *result, question);
  for (const auto& [gpu, is_bad] : flags(snapshot, question))
    gpus[gpu] = is_bad;
  for (const auto& [gpu, is_bad] : gpus)
    flags_.push_back({gpu, is_bad});
  std::ranges::sort(flags_, is_before, &GpuFlag::gpu);
}

bool GpuFlags::any_bad() const {
  return std::ranges::any_of(flags_, [](const GpuFlag& flag) { return flag.is_bad.value_or(false); });
}

bool GpuFlags::any_unread() const {
  return std::ranges::any_of(flags_, [](const GpuFlag& flag) { return !flag.is_bad; });
}

std::string GpuFlags::gpus() const {
  std::string text;
  for (const GpuFlag& flag : flags_)
    text.append(device_id(flag.gpu)).append(" ");
  return text + "Total: " + std::to_string(flags_.size());
}

std::string GpuFlags::values() const {
  std::string text;
  for (const GpuFlag& flag : flags_) {
    if (!text.empty()) text += ' ';
    text += flag.is_bad ? (*flag.is_bad ? "1" : "0") : "nan";
  }
  return text;
}

}  // namespace autopilot::compat::ibm_autopilot
