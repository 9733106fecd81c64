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

// Where bytes of a plugged module (SFP, QSFP, ...) lie. Bank 0 is the only one that is read.
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

// Asks the module for `size` bytes.
using ReadModule = std::function<Result<std::string>(const ModulePlace& place, std::size_t size)>;

// Reads what parse_module needs and nothing else: never a byte whose reading changes it (flags that last
// until somebody reads them belong to the driver and to whoever else looks), and no serial number. An error:
// not even the first bytes could be read, or (unsupported) it is a kind of module that nobody here knows.
[[nodiscard]] Result<ModuleMemory> read_module_memory(const ReadModule& read);

}  // namespace autopilot::host
