// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/gpu/gpu_check.hpp"
#include "cli/output/node_page.hpp"
#include "core/gpu_user.hpp"
#include "host/gpu/readings.hpp"

namespace autopilot::cli {
namespace {

// The address of the GPU that the subject is, or is a part of; empty for other subjects.
std::string_view gpu_address(const Subject& subject) {
  switch (subject.kind) {
    case SubjectKind::gpu:
    case SubjectKind::gpu_instance:
    case SubjectKind::nvlink:
      return std::string_view(subject.key).substr(0, subject.key.find('/'));
    default:
      return {};
  }
}

// failed, else unknown to a required check, else degraded, else healthy, as for the node.
Health health_of_gpu(const std::string& address, const NodeSnapshot& snapshot) {
  Health health = Health::healthy;
  for (const CheckResult& result : snapshot.results)
    for (const Finding& finding : result.findings) {
      if (finding.injected || gpu_address(finding.subject) != address) continue;
      if (finding.health == Health::unsupported) continue;
      if (finding.health == Health::unknown && !result.required) continue;
      health = worst(health, finding.health);
    }
  return health;
}

std::string short_owner(const GpuUser& user) {
  const GpuUserOwner& owner = user.owner;
  if (!owner.pod.empty()) return owner.pod_namespace + "/" + owner.pod;
  if (!owner.job.empty()) return owner.job;
  constexpr std::size_t kShortId = 12;
  if (!owner.container.empty()) return "container " + owner.container.substr(0, kShortId);
  return user.process + " (" + std::to_string(user.pid) + ")";
}

struct GpuFacts {
  PageGpu gpu;
  std::set<std::string> owners;
};

std::string owners_text(const std::set<std::string>& owners) {
  if (owners.empty()) return {};
  const std::size_t more = owners.size() - 1;
  return *owners.begin() + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

void add_fact(GpuFacts& facts, const Observation& observation) {
  const Subject& subject = observation.subject;
  if (const auto user = gpu_user_in(observation)) facts.owners.insert(short_owner(*user));
  if (subject.kind != SubjectKind::gpu) return;
  if (subject.index) facts.gpu.index = std::to_string(*subject.index);
  if (!subject.serial.empty()) facts.gpu.serial = std::string(subject.serial);
  if (!observation.value) return;
  if (observation.name == checks::kGpuModel) facts.gpu.model = to_string(*observation.value);
  if (observation.name == host::reading::kTemperatureGpu) facts.gpu.celsius = as_number(*observation.value);
}

}  // namespace

std::vector<PageGpu> gpus_of(const NodeSnapshot& snapshot) {
  std::map<std::string, GpuFacts, std::less<>> by_address;
  for (const CheckResult& result : snapshot.results)
    for (const Observation& observation : result.observations)
      if (const std::string_view address = gpu_address(observation.subject); !address.empty())
        add_fact(by_address[std::string(address)], observation);
  std::vector<PageGpu> gpus;
  for (auto& [address, facts] : by_address) {
    if (facts.gpu.index.empty()) facts.gpu.index = address;
    facts.gpu.owner = owners_text(facts.owners);
    facts.gpu.health = health_of_gpu(address, snapshot);
    gpus.push_back(std::move(facts.gpu));
  }
  return gpus;
}

}  // namespace autopilot::cli
