// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/port_answers.hpp"

#include "core/hex.hpp"
#include "core/yaml_text.hpp"

namespace autopilot::cli {
namespace {

void add_error(YamlNode& node, const Error& error) {
  // A machine tree has no internal errors.
  const Errc code = error.code == Errc::internal ? Errc::unavailable : error.code;
  yaml_member(node, "error") = yaml_word(to_string(code));
}

YamlNode answers(const host::PortLink& link) {
  YamlNode node = yaml_map();
  if (!link.reason.empty()) yaml_member(node, "reason") = yaml_word(link.reason);
  if (!link.detail.empty()) yaml_member(node, "detail") = yaml_word(link.detail);
  if (link.signal_quality) yaml_member(node, "signal_quality") = yaml_integer(*link.signal_quality);
  if (link.signal_quality_max)
    yaml_member(node, "signal_quality_max") = yaml_integer(*link.signal_quality_max);
  return node;
}

YamlNode answers(const host::PortFec& fec) {
  YamlNode node = yaml_map();
  if (!fec.mode.empty()) yaml_member(node, "mode") = yaml_word(fec.mode);
  if (fec.corrected_blocks) yaml_member(node, "corrected_blocks") = yaml_integer(*fec.corrected_blocks);
  if (fec.uncorrectable_blocks)
    yaml_member(node, "uncorrectable_blocks") = yaml_integer(*fec.uncorrectable_blocks);
  return node;
}

YamlNode answers(const host::ModuleMemory& memory) {
  YamlNode node = yaml_map();
  for (const auto& [place, bytes] : memory.parts)
    yaml_member(node, to_string(place)) = yaml_word(to_hex(bytes));
  if (memory.problem) add_error(node, *memory.problem);
  return node;
}

template <class T>
void add(YamlNode& node, std::string_view name, const Result<T>& result) {
  YamlNode& part = yaml_member(node, name);
  part = yaml_map();
  if (result)
    part = answers(*result);
  else
    add_error(part, result.error());
}

}  // namespace

YamlNode port_answers(const Result<host::EthtoolPort>& port) {
  YamlNode node = yaml_map();
  if (!port) {
    add_error(node, port.error());
    return node;
  }
  add(node, "link", port->link);
  add(node, "fec", port->fec);
  add(node, "module", port->module);
  return node;
}

}  // namespace autopilot::cli
