// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/idle_gpus.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace autopilot::diagnostics {
namespace {

enum class Form { whole, part };

// Resource names of device plugins. '*' at the end matches any rest; the first match counts.
struct ResourceName {
  std::string_view name;
  std::optional<Form> form;  // not set: not a device
};

constexpr std::array kNames{
    ResourceName{"nvidia.com/gpu", Form::whole},
    ResourceName{"nvidia.com/gpu.shared", Form::part},
    ResourceName{"nvidia.com/mig-*", Form::part},
    ResourceName{"amd.com/gpu", Form::whole},
    ResourceName{"amd.com/*", Form::part},  // compute partitions: "amd.com/cpx_nps4"
    ResourceName{"gpu.intel.com/i915", Form::whole},
    ResourceName{"gpu.intel.com/xe", Form::whole},
    ResourceName{"gpu.intel.com/i915_monitoring", std::nullopt},  // to look at all of them
    ResourceName{"gpu.intel.com/xe_monitoring", std::nullopt},
    ResourceName{"gpu.intel.com/*", Form::part},  // "gpu.intel.com/millicores"
    ResourceName{"habana.ai/gaudi", Form::whole},
    ResourceName{"google.com/tpu", Form::whole},
    ResourceName{"aws.amazon.com/neuron", Form::whole},
    ResourceName{"aws.amazon.com/neuron*", Form::part},  // cores of the same devices
};

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::optional<Form> form_of(std::string_view resource) {
  const auto found =
      std::ranges::find_if(kNames, [&](const ResourceName& each) { return fits(each.name, resource); });
  return found == kNames.end() ? std::nullopt : found->form;
}

// NVIDIA's feature discovery appends the sharing mode to the product name: "...-SHARED" if several pods get
// the same GPU, "...-MIG-1g.10gb" if each pod gets a slice.
bool has_divided_product(const kube::Node& node) {
  const auto product = node.meta.labels.find("nvidia.com/gpu.product");
  return product != node.meta.labels.end() &&
         (product->second.ends_with("-SHARED") || product->second.find("-MIG-") != std::string::npos);
}

// The accelerators of the pod, as text for a message; empty: none.
std::string held_by(const kube::Pod& pod) {
  std::string held;
  for (const auto& [resource, count] : pod.devices)
    if (count > 0 && is_accelerator(resource))
      held += (held.empty() ? "" : ", ") + resource + ' ' + std::to_string(count);
  if (!pod.device_claims.empty()) held += held.empty() ? "by a claim" : ", others by a claim";
  return held;
}

}  // namespace

bool is_accelerator(std::string_view resource) {
  return form_of(resource).has_value();
}

AcceleratorUse accelerator_use(const kube::Node& node, std::span<const kube::Pod> pods,
                               const std::function<bool(const kube::Pod&)>& is_own) {
  AcceleratorUse use;
  for (const auto& [resource, count] : node.allocatable) {
    const auto form = form_of(resource);
    if (form && count > 0) (*form == Form::whole ? use.whole : use.parts).emplace(resource, count);
  }
  use.is_divided = has_divided_product(node);
  for (const kube::Pod& pod : pods) {
    if (pod.is_over() || (is_own && is_own(pod))) continue;
    const std::string held = held_by(pod);
    if (!held.empty()) use.holders.push_back(pod.meta.name_space + '/' + pod.meta.name + " (" + held + ')');
  }
  std::ranges::sort(use.holders);
  return use;
}

}  // namespace autopilot::diagnostics
