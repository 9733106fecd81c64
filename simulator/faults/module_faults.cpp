// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <string>

#include "core/hex.hpp"
#include "core/parse.hpp"
#include "faults/effect.hpp"
#include "host/ethtool/module_image.hpp"

namespace autopilot::simulator {
namespace {

constexpr const char* kPorts = "ethernet_ports";

YamlNode& port_of(FaultEffect& effect) {
  return yaml_member(yaml_member(effect.machine.machine, kPorts), effect.key);
}

// Positions of the monitored values in the two layouts of the built-in machines.
struct Monitors {
  const char* part;
  std::size_t begin;  // byte of the part's first
  std::size_t celsius, received, sent;
  std::size_t lanes;
};
constexpr std::array kMonitors{Monitors{"51/00/96", 96, 96, 104, 102, 1},
                               Monitors{"50/00/22", 22, 22, 34, 50, 4}};

// Writes up to `count` words from `at` on, as far as there are bytes.
void write_words(std::string& bytes, std::size_t at, std::size_t count, std::uint16_t word) {
  for (std::size_t end = at + 2 * count; at < end && at + 1 < bytes.size(); at += 2) {
    bytes[at] = static_cast<char>(word >> 8U);
    bytes[at + 1] = static_cast<char>(word & 255U);
  }
}

// Sets the first word from `byte` on, or the word of each lane, to `word`; the layout selects `byte`.
void set_monitor(FaultEffect& effect, std::size_t Monitors::*byte, bool is_of_lanes, std::uint16_t word) {
  YamlNode& module = yaml_member(port_of(effect), "module");
  for (const Monitors& monitors : kMonitors) {
    const YamlNode* part = module.find(monitors.part);
    auto bytes = part == nullptr ? std::nullopt : from_hex(part->text);
    if (!bytes) continue;
    write_words(*bytes, monitors.*byte - monitors.begin, is_of_lanes ? monitors.lanes : 1, word);
    yaml_member(module, monitors.part) = yaml_word(to_hex(*bytes));
  }
}

}  // namespace

void apply_module_light(FaultEffect& effect) {
  if (!effect.is_active) return;
  set_monitor(effect, effect.kind == "sent" ? &Monitors::sent : &Monitors::received, true,
              host::ModuleImage::light(-effect.magnitude));
}

void apply_module_heat(FaultEffect& effect) {
  if (!effect.is_active) return;
  set_monitor(effect, &Monitors::celsius, false, host::ModuleImage::heat(effect.magnitude));
}

void apply_fec_errors(FaultEffect& effect) {
  FaultEffect::add_to(yaml_member(port_of(effect), "fec"),
                      effect.kind == "corrected" ? "corrected_blocks" : "uncorrectable_blocks",
                      effect.grown());
}

void apply_link_reason(FaultEffect& effect) {
  if (!effect.is_active || effect.kind == "untold") return;
  YamlNode& link = yaml_member(port_of(effect), "link");
  const bool is_remote = effect.kind == "remote_fault";
  yaml_member(link, "reason") = yaml_word(is_remote ? "link_training_failed" : effect.kind);
  if (is_remote) yaml_member(link, "detail") = yaml_word("remote_fault");
}

}  // namespace autopilot::simulator
