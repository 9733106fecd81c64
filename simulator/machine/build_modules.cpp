// SPDX-License-Identifier: Apache-2.0
#include "core/hex.hpp"
#include "core/yaml_text.hpp"
#include "host/ethtool/module_image.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

constexpr int kSfp28 = 25000;

YamlNode module_node(const host::ModuleImage& image) {
  YamlNode node = yaml_map();
  const auto memory = image.memory();
  if (!memory) return node;
  for (const auto& [place, bytes] : memory->parts)
    yaml_member(node, to_string(place)) = yaml_word(to_hex(bytes));
  return node;
}

}  // namespace

void build_modules(const Description& description, Machine& machine) {
  for (const EthernetDescription& port : description.ethernet) {
    YamlNode& node = yaml_member(yaml_member(machine.machine, "ethernet_ports"), port.name);
    YamlNode& fec = yaml_member(node, "fec");
    yaml_member(fec, "mode") = yaml_word("rs");
    yaml_member(fec, "corrected_blocks") = yaml_integer(48'213);
    yaml_member(fec, "uncorrectable_blocks") = yaml_integer(0);
    const auto image = port.megabits <= kSfp28 ? host::ModuleImage::sfp28() : host::ModuleImage::qsfp28();
    yaml_member(node, "module") = module_node(image);
  }
}

}  // namespace autopilot::simulator
