// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/ethernet_port.hpp"

#include "core/hex.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kSaysSo = "the machine tree says so";
constexpr std::string_view kError = "error";

std::optional<Error> read_port_error(YamlMap& map) {
  const auto code = map.choice<Errc>(kError, parse_errc,
                                     {"unavailable", "unsupported", "timed_out", "denied", "malformed"});
  return code ? std::optional(Error{*code, std::string(kSaysSo)}) : std::nullopt;
}

std::optional<std::uint64_t> read_count(YamlMap& map, std::string_view key) {
  const auto count = map.integer(key);
  if (count && *count < 0) map.problem(map.line_of(key), "`" + std::string(key) + "` is out of range");
  return count ? std::optional(static_cast<std::uint64_t>(*count)) : std::nullopt;
}

Result<PortLink> read_link(YamlMap map) {
  PortLink link;
  link.reason = map.word("reason").value_or("");
  link.detail = map.word("detail").value_or("");
  if (const auto quality = map.integer("signal_quality")) link.signal_quality = static_cast<int>(*quality);
  if (const auto most = map.integer("signal_quality_max")) link.signal_quality_max = static_cast<int>(*most);
  if (auto error = read_port_error(map)) return fail(*std::move(error));
  return link;
}

Result<PortFec> read_fec(YamlMap map) {
  PortFec fec;
  fec.mode = map.word("mode").value_or("");
  fec.corrected_blocks = read_count(map, "corrected_blocks");
  fec.uncorrectable_blocks = read_count(map, "uncorrectable_blocks");
  if (auto error = read_port_error(map)) return fail(*std::move(error));
  return fec;
}

// A map of bytes by where the first of them lies; `error` is why the others, or all, could not be read.
Result<ModuleMemory> read_module(const YamlNode& node, YamlMap map) {
  ModuleMemory memory;
  for (const YamlMember& member : node.members) {
    if (member.key == kError) continue;
    const auto digits = map.word(member.key);
    const auto place = parse_module_place(member.key);
    const auto bytes = from_hex(digits.value_or(""));
    if (!place || !bytes || bytes->empty() || bytes->size() > ModuleMemory::kMaxPart)
      map.problem(member.line, "`" + member.key +
                                   "` must be address/page/byte such as 50/00/128, with up to 128 bytes in "
                                   "hexadecimal digits");
    else
      memory.parts[*place] = *bytes;
  }
  if (memory.parts.size() > ModuleMemory::kMaxParts)
    map.problem(map.line(), "more than " + std::to_string(ModuleMemory::kMaxParts) + " parts of a module");
  memory.problem = read_port_error(map);
  if (memory.parts.empty() && memory.problem) return fail(*memory.problem);
  return memory;
}

}  // namespace

Result<EthtoolPort> read_ethernet_port(YamlMap map) {
  const auto nothing = fail(Errc::unsupported, std::string(kSaysSo));
  EthtoolPort port{PortLink{}, nothing, nothing};
  if (const YamlNode* link = map.map("link")) port.link = read_link(map.nested(*link, "link"));
  if (const YamlNode* fec = map.map("fec")) port.fec = read_fec(map.nested(*fec, "fec"));
  if (const YamlNode* module = map.map("module"))
    port.module = read_module(*module, map.nested(*module, "module"));
  if (auto error = read_port_error(map)) return fail(*std::move(error));
  return port;
}

}  // namespace autopilot::host
