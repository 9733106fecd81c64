// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/module.hpp"

#include <array>
#include <numeric>

#include "core/hex.hpp"
#include "core/parse.hpp"
#include "host/ethtool/module_bytes.hpp"
#include "host/ethtool/module_layout.hpp"

namespace autopilot::host {

std::optional<std::uint8_t> ModulePage::byte(std::uint8_t offset) const {
  const auto found = bytes(offset, 1);
  if (!found) return std::nullopt;
  return static_cast<std::uint8_t>(found->front());
}

std::optional<std::uint16_t> ModulePage::word(std::uint8_t offset) const {
  const auto found = bytes(offset, 2);
  if (!found) return std::nullopt;
  const auto high = static_cast<std::uint8_t>((*found)[0]);
  const auto low = static_cast<std::uint8_t>((*found)[1]);
  return static_cast<std::uint16_t>(high * 256U + low);
}

std::string ModulePage::text(std::uint8_t offset, std::size_t size) const {
  const auto found = bytes(offset, size);
  if (!found) return {};
  return to_printable(trim(found->substr(0, found->find('\0'))));
}

bool ModulePage::is_sound(std::uint8_t begin, std::uint8_t at) const {
  const auto covered = bytes(begin, at - begin);
  const auto sum = byte(at);
  if (!covered || !sum) return false;
  const auto total = std::accumulate(covered->begin(), covered->end(), 0U, [](unsigned so_far, char c) {
    return so_far + static_cast<std::uint8_t>(c);
  });
  return static_cast<std::uint8_t>(total) == *sum;
}

bool are_sensible(const ModuleLimits& limits) {
  return limits.high_alarm > limits.low_alarm && limits.high_warning > limits.low_warning &&
         limits.high_alarm >= limits.high_warning && limits.low_alarm <= limits.low_warning;
}

std::optional<ModuleLimits> read_module_limits(const ModulePage& page, std::uint8_t offset,
                                               const ModuleUnit& unit) {
  std::array<double, 4> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto word = page.word(static_cast<std::uint8_t>(offset + 2 * i));
    if (!word) return std::nullopt;
    values.at(i) = unit.of(*word);
  }
  const ModuleLimits limits{values[0], values[1], values[2], values[3]};
  return are_sensible(limits) ? std::optional(limits) : std::nullopt;
}

std::optional<ModuleMonitor> read_module_monitor(const ModulePage& page, std::uint8_t offset,
                                                 const ModuleUnit& unit,
                                                 const std::optional<ModuleLimits>& limits) {
  const auto word = page.word(offset);
  if (!word) return std::nullopt;
  return ModuleMonitor{unit.of(*word), limits};
}

Error missing_module_part(const ModuleMemory& memory, std::string_view what) {
  if (memory.problem) return *memory.problem;
  return {Errc::unavailable, "module memory: " + std::string(what) + " was not read"};
}

Result<Module> parse_module(const ModuleMemory& memory) {
  const auto beginning = memory.find({0x50, 0, 0}, 3);
  if (!beginning) return fail(missing_module_part(memory, "the beginning"));
  const auto identifier = static_cast<std::uint8_t>(beginning->front());
  if (beginning->find_first_not_of('\xFF') == std::string_view::npos)
    return fail(Errc::malformed, "module memory: all bytes are FFh, as where nobody answers");
  switch (module_layout(identifier)) {
    case ModuleLayout::sff8472:
      return parse_sff8472(memory);
    case ModuleLayout::sff8636:
      return parse_sff8636(memory);
    case ModuleLayout::cmis:
      return parse_cmis(memory);
    case ModuleLayout::unknown:
      break;
  }
  return fail(Errc::unsupported,
              "module memory: identifier " + to_hex(beginning->substr(0, 1)) + "h is not known here");
}

}  // namespace autopilot::host
