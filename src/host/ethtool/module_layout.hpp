// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace autopilot::host {

// How the memory of a module is laid out, by the first byte of it (SFF-8024, table 4-1).
enum class ModuleLayout : std::uint8_t {
  unknown,
  sff8472,  // SFP, SFP+, SFP28
  sff8636,  // QSFP+, QSFP28
  cmis,     // QSFP-DD, OSFP, SFP-DD, DSFP, and smaller ones that speak it
};

[[nodiscard]] constexpr ModuleLayout module_layout(std::uint8_t identifier) {
  switch (identifier) {
    case 0x03:
    case 0x0B:
      return ModuleLayout::sff8472;
    case 0x0C:
    case 0x0D:
    case 0x11:
      return ModuleLayout::sff8636;
    case 0x18:
    case 0x19:
    case 0x1B:
    case 0x1E:
    case 0x1F:
    case 0x20:
      return ModuleLayout::cmis;
    default:
      return ModuleLayout::unknown;
  }
}

// Byte 2: nothing but the lower half and page 00h is there.
inline constexpr std::uint8_t kQsfpFlatMemory = 0x04;
inline constexpr std::uint8_t kCmisFlatMemory = 0x80;

// Byte 92 of SFF-8472: the second address is there, and reached without switching to it.
[[nodiscard]] constexpr bool has_sfp_diagnostics(std::uint8_t monitoring) {
  constexpr std::uint8_t implemented = 0x40;
  constexpr std::uint8_t address_change = 0x04;
  return (monitoring & implemented) != 0 && (monitoring & address_change) == 0;
}

}  // namespace autopilot::host
