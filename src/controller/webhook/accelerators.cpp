// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/accelerators.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <optional>
#include <set>

#include "core/parse.hpp"
#include "kube/json_path.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

// Limit for one container, so that sums over all containers of a review are exact.
constexpr std::int64_t kMostDevices = std::int64_t{1} << 31;

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Parts of the resource names that schedulers and device plugins use for shares of a GPU, read 2026-11-28:
// HAMi (nvidia.com/gpumem, gpumem-percentage, gpucores), Volcano (volcano.sh/vgpu-number, gpu-memory),
// Alibaba (aliyun.com/gpu-mem, gpu-core.percentage), Koordinator (koordinator.sh/gpu-memory-ratio,
// gpu.shared), Tencent (tencent.com/vcuda-core, tke.cloud.tencent.com/qgpu-core), Volcengine
// (vke.volcengine.com/mgpu-core), Baidu (cgpu), AWS (k8s.amazonaws.com/vgpu), and NVIDIA's device plugin for
// sharing by time or MPS (nvidia.com/gpu.shared, nvidia.com/mig-1g.10gb.shared).
constexpr std::array<std::string_view, 11> kShareWords{"gpumem",   "gpucores",    "vgpu",   "gpu-mem",
                                                       "gpu-core", "gpu-percent", "vcuda",  "qgpu",
                                                       "mgpu",     "cgpu",        ".shared"};
// Labels of nodes that share their GPUs, in node selectors: of GKE, and of NVIDIA's feature discovery.
constexpr std::array<std::string_view, 3> kShareLabels{"cloud.google.com/gke-gpu-sharing-strategy",
                                                       "cloud.google.com/gke-max-shared-clients-per-gpu",
                                                       "nvidia.com/gpu.sharing-strategy"};

bool is_share(std::string_view resource) {
  std::string name = to_lower(resource.substr(resource.find('/') + 1));
  std::ranges::replace(name, '_', '-');
  return std::ranges::any_of(kShareWords,
                             [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

bool is_some(const json::value& amount) {
  return amount.is_string() ? trim(kube::text_of(amount)) != "0" : amount != json::value(0);
}

// The resource name of the share; empty: none requested.
std::string share_in(const json::object& container) {
  for (const auto* kind : {"limits", "requests"}) {
    const json::object* amounts = kube::object_at(container, {"resources", kind});
    if (amounts == nullptr) continue;
    for (const auto& [name, amount] : *amounts)
      if (is_share(name) && is_some(amount)) return name;
  }
  return {};
}

// The limit of a device is a string ("8") or a number. The API server refuses a value that is not an integer.
Counts devices_of(const json::object& container, const AcceleratorNames& names) {
  Counts counts;
  const json::object* limits = kube::object_at(container, {"resources", "limits"});
  if (limits == nullptr) return counts;
  for (const auto& [name, amount] : *limits) {
    if (!is_accelerator(name, names)) continue;
    const auto count = amount.is_string() ? parse_number<std::int64_t>(kube::text_of(amount))
                                          : kube::number_at(*limits, {name});
    if (count && *count > 0) counts.emplace(name, std::min(*count, kMostDevices));
  }
  return counts;
}

void add(Counts& to, const Counts& more) {
  for (const auto& [name, count] : more)
    to[name] += count;
}

void raise(Counts& to, const Counts& least) {
  for (const auto& [name, count] : least)
    to[name] = std::max(to[name], count);
}

void add_claims(const json::object& container, std::set<ClaimUse>& claims) {
  for (const json::object* use : kube::objects_at(container, {"resources", "claims"}))
    claims.insert(
        {std::string(kube::text_at(*use, {"name"})), std::string(kube::text_at(*use, {"request"}))});
}

// A container with a whole claim must not name its requests as well.
std::vector<ClaimUse> each_once(const std::set<ClaimUse>& claims) {
  std::vector<ClaimUse> uses;
  for (const ClaimUse& use : claims)
    if (use.request.empty() || !claims.contains({use.claim, ""})) uses.push_back(use);
  return uses;
}

}  // namespace

std::string asked_share(const json::object& pod, std::string_view but) {
  for (const auto* list : {"containers", "initContainers"})
    for (const json::object* container : kube::objects_at(pod, {"spec", list})) {
      const std::string_view name = kube::text_at(*container, {"name"});
      if (name == but) continue;
      if (const std::string share = share_in(*container); !share.empty())
        return "container " + std::string(name) + " requests a share of a GPU with " + share;
    }
  if (const json::object* labels = kube::object_at(pod, {"spec", "nodeSelector"}))
    for (const std::string_view label : kShareLabels)
      if (labels->contains(label) && kube::text_at(*labels, {label}) != "none")
        return "it selects a node with shared GPUs, by the label " + std::string(label);
  return {};
}

bool is_accelerator(std::string_view resource, const AcceleratorNames& names) {
  return std::ranges::any_of(names.resources,
                             [&](const std::string& pattern) { return fits(pattern, resource); });
}

bool asks_for_accelerators(const json::object& container, const AcceleratorNames& names) {
  return (names.has_claims && !kube::objects_at(container, {"resources", "claims"}).empty()) ||
         !devices_of(container, names).empty();
}

AcceleratorNeeds accelerator_needs(const json::object& pod, const AcceleratorNames& names,
                                   std::string_view but) {
  AcceleratorNeeds needs;
  std::set<ClaimUse> claims;
  const auto look_at = [&](const json::object& container) {
    if (names.has_claims) add_claims(container, claims);
    if (needs.container == nullptr && asks_for_accelerators(container, names)) needs.container = &container;
  };
  Counts staying;
  for (const json::object* container : kube::objects_at(pod, {"spec", "containers"})) {
    look_at(*container);
    add(needs.devices, devices_of(*container, names));
  }
  Counts beginning;
  for (const json::object* container : kube::objects_at(pod, {"spec", "initContainers"})) {
    if (kube::text_at(*container, {"name"}) == but) continue;
    look_at(*container);
    Counts together = staying;
    add(together, devices_of(*container, names));
    raise(beginning, together);
    if (kube::text_at(*container, {"restartPolicy"}) == "Always") staying = together;
  }
  add(needs.devices, staying);
  raise(needs.devices, beginning);
  needs.claims = each_once(claims);
  return needs;
}

}  // namespace autopilot::controller
