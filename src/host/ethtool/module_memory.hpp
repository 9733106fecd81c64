// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::host {

// Where bytes of a plugged module (SFP, QSFP, ...) lie. Only bank 0 is read.
struct ModulePlace {
  std::uint8_t i2c_address = 0x50;
  std::uint8_t page = 0;
  std::uint8_t offset = 0;  // 128 and more: the upper half, which alone has pages

  friend auto operator<=>(const ModulePlace&, const ModulePlace&) = default;
};

// "50/11/154": address and page in hexadecimal, the byte in decimal digits.
[[nodiscard]] std::string to_string(const ModulePlace& place);
[[nodiscard]] std::optional<ModulePlace> parse_module_place(std::string_view text);

// Parts of the memory of a module, as it gave them.
struct ModuleMemory {
  static constexpr std::size_t kMaxParts = 16;
  static constexpr std::size_t kMaxPart = 128;  // the kernel gives no more at once

  std::map<ModulePlace, std::string> parts;  // bytes by where the first of them lies
  std::optional<Error> problem;              // why the rest could not be read

  // Those bytes, if one part holds all of them.
  [[nodiscard]] std::optional<std::string_view> find(const ModulePlace& place, std::size_t size) const;
};

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

// Asks the module for `size` bytes.
using ReadModule = std::function<Result<std::string>(const ModulePlace& place, std::size_t size)>;

// Reads what parse_module needs and nothing else: never a byte whose reading changes it (flags that a
// read clears belong to the driver and to other readers), and no serial number. An error:
// not even the first bytes could be read, or (unsupported) the kind of module is not known here.
[[nodiscard]] Result<ModuleMemory> read_module_memory(const ReadModule& read);

// How the memory of a module is laid out, by the first byte of it (SFF-8024, table 4-1).
enum class ModuleLayout : std::uint8_t {
  unknown,
  sff8472,  // SFP, SFP+, SFP28
  sff8636,  // QSFP+, QSFP28
  cmis,     // QSFP-DD, OSFP, SFP-DD, DSFP, and smaller modules that speak it
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
inline constexpr std::uint8_t kCmisFlatMemory = 0x80;

// Byte 92 of SFF-8472: the second address is there, and reached without switching to it.
[[nodiscard]] constexpr bool has_sfp_diagnostics(std::uint8_t monitoring) {
  constexpr std::uint8_t implemented = 0x40;
  constexpr std::uint8_t address_change = 0x04;
  return (monitoring & implemented) != 0 && (monitoring & address_change) == 0;
}

}  // namespace autopilot::host
