// SPDX-License-Identifier: Apache-2.0
// Faults that only active tests find.
#include "faults/effect.hpp"

namespace autopilot::simulator {
namespace {

// `probes` of machine.yaml; null: the machine has no tests.
YamlNode* probes_of(FaultEffect& effect) {
  return effect.machine.machine.find("probes") == nullptr ? nullptr
                                                          : &yaml_member(effect.machine.machine, "probes");
}

}  // namespace

void apply_slow_copies(FaultEffect& effect) {
  YamlNode* probes = probes_of(effect);
  if (!effect.is_active || probes == nullptr || probes->find("gpu.pcie_bandwidth") == nullptr) return;
  YamlNode& found = yaml_member(yaml_member(*probes, "gpu.pcie_bandwidth"), "found");
  for (YamlNode& one : found.items) {
    const YamlNode* subject = one.find("subject");
    const YamlNode* name = one.find("name");
    if (subject != nullptr && subject->text == "gpu/" + effect.key && name != nullptr &&
        name->text == "pcie_bandwidth.host_to_device")
      yaml_member(one, "value") = yaml_number(effect.magnitude);
  }
}

void apply_test_hang(FaultEffect& effect) {
  YamlNode* probes = probes_of(effect);
  if (!effect.is_active || probes == nullptr) return;
  for (YamlMember& probe : probes->members)
    if (effect.kind == "*" || effect.kind == probe.key) yaml_member(probe.value, "hangs") = yaml_flag(true);
}

}  // namespace autopilot::simulator
