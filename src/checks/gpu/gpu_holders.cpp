// SPDX-License-Identifier: Apache-2.0
#include "checks/gpu/gpu_holders.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/gpu/gpu_check.hpp"
#include "core/workload.hpp"

namespace autopilot::checks {
namespace {

// So that the round ends within its own deadline also if the helper has to be killed.
constexpr Duration kReserve = std::chrono::seconds{1};

// The GPUs of a round, and the parts of those that are divided, by the words that device plugins have for
// them.
class KnownGpus {
 public:
  // `in_pci`: those of NVIDIA in the PCI tree, also where the driver does not list them.
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
    const Subject* told = find_in(instances_, uuid);
    return told != nullptr ? told : only_divided();
  }

  // An instance that the driver does not tell: where one GPU is divided and all others are known not to be,
  // it is a part of that one.
  [[nodiscard]] const Subject* only_divided() const {
    const bool all_told = !has_unlisted_ && divided_.size() + undivided_.size() == by_address_.size();
    return all_told && divided_.size() == 1 ? &*divided_.begin() : nullptr;
  }

  void add(const Observation& observation) {
    const Subject& gpu = observation.subject;
    by_address_.emplace(gpu.key, gpu);
    if (!gpu.uuid.empty()) by_uuid_.emplace(gpu.uuid, gpu);
    note_division(observation);
    if (observation.name != host::reading::kMinor || !observation.value) return;
    if (const auto minor = as_number(*observation.value)) by_minor_.emplace(static_cast<int>(*minor), gpu);
  }

  // One that could not be asked is neither.
  void note_division(const Observation& observation) {
    const bool is_amd = observation.name == kGpuState && observation.source == kAmdgpu;
    const bool is_told =
        observation.name == host::reading::kMig && (observation.value || is_not_offered(observation.missing));
    if (!is_amd && !is_told) return;
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

// The kubelet does not tell the UID; the folders of its logs do, unless a pod of that name was there before.
std::string uid_of(const host::HeldDevices& held, const host::PodNames& pods) {
  const std::string* found = nullptr;
  for (const auto& [uid, name] : pods) {
    if (name.first != held.pod_namespace || name.second != held.pod) continue;
    if (found != nullptr) return {};
    found = &uid;
  }
  return found == nullptr ? std::string{} : *found;
}

Workload holder_of(const host::HeldDevices& held, const host::PodNames& pods) {
  Workload holder;
  holder.owner.pod_namespace = held.pod_namespace;
  holder.owner.pod = held.pod;
  holder.owner.pod_uid = uid_of(held, pods);
  return holder;
}

// "<namespace>/<pod>"
using HolderName = std::string;

struct Holders {
  std::map<std::pair<Subject, HolderName>, Workload> of_gpus;
  std::map<HolderName, Workload> pods;
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

}  // namespace

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

}  // namespace autopilot::checks
