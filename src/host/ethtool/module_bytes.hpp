// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "host/ethtool/module.hpp"
#include "host/ethtool/module_memory.hpp"

namespace autopilot::host {

// Numbers in one page of a module; all of them are big-endian. What was not read is missing.
class ModulePage {
 public:
  ModulePage(const ModuleMemory& memory, std::uint8_t i2c_address, std::uint8_t page)
      : memory_(memory), i2c_address_(i2c_address), page_(page) {}

  [[nodiscard]] std::optional<std::uint8_t> byte(std::uint8_t offset) const;
  [[nodiscard]] std::optional<std::uint16_t> word(std::uint8_t offset) const;
  [[nodiscard]] std::optional<std::string_view> bytes(std::uint8_t offset, std::size_t size) const {
    return memory_.find({i2c_address_, page_, offset}, size);
  }
  // Without the blanks at its end, and with what cannot be shown escaped.
  [[nodiscard]] std::string text(std::uint8_t offset, std::size_t size) const;
  // The bytes from `begin` on add up to the one at `at`, in eight bits.
  [[nodiscard]] bool is_sound(std::uint8_t begin, std::uint8_t at) const;

 private:
  const ModuleMemory& memory_;
  std::uint8_t i2c_address_;
  std::uint8_t page_;
};

// How a number in the memory becomes a quantity.
struct ModuleUnit {
  double scale = 1;
  bool is_signed = false;
  [[nodiscard]] double of(std::uint16_t word) const {
    return scale * (is_signed ? static_cast<std::int16_t>(word) : static_cast<int>(word));
  }
};

inline constexpr ModuleUnit kModuleCelsius{1.0 / 256, true};
inline constexpr ModuleUnit kModuleVolts{0.0001};
inline constexpr ModuleUnit kModuleMilliwatts{0.0001};
inline constexpr ModuleUnit kModuleMilliamperes{0.002};

// Four words: high alarm, low alarm, high warning, low warning. Limits that no value could keep are none:
// modules that have no limits answer with zeros, or with ones.
[[nodiscard]] std::optional<ModuleLimits> read_module_limits(const ModulePage& page, std::uint8_t offset,
                                                             const ModuleUnit& unit);
[[nodiscard]] bool are_sensible(const ModuleLimits& limits);
// A word with limits; nothing where it was not read.
[[nodiscard]] std::optional<ModuleMonitor> read_module_monitor(const ModulePage& page, std::uint8_t offset,
                                                               const ModuleUnit& unit,
                                                               const std::optional<ModuleLimits>& limits);

// One for each layout; they expect the parts that read_module_memory takes for it.
[[nodiscard]] Result<Module> parse_sff8472(const ModuleMemory& memory);
[[nodiscard]] Result<Module> parse_sff8636(const ModuleMemory& memory);
[[nodiscard]] Result<Module> parse_cmis(const ModuleMemory& memory);

// The error where a part that is needed is not there: why it could not be read, if that is known.
[[nodiscard]] Error missing_module_part(const ModuleMemory& memory, std::string_view what);

}  // namespace autopilot::host
