// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/module_memory.hpp"

#include <array>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "core/text.hpp"

namespace autopilot::host {
namespace {

struct Range {
  ModulePlace place;
  std::size_t size;
};

constexpr std::uint8_t kA0 = 0x50;
constexpr std::uint8_t kA2 = 0x51;
constexpr std::uint8_t kQsfpFlatMemory = 0x04;  // of byte 2: there are no pages but 00h

// The first bytes of every kind: identifier, revision, status. Of SFF-8636 the flags begin behind them.
constexpr Range kBeginning{{kA0, 0, 0}, 3};

// SFF-8472: identity with its checksum, what is monitored and how.
constexpr std::array kSfp{Range{{kA0, 0, 3}, 61}, Range{{kA0, 0, 92}, 3}};
// Limits, calibration and their checksum; the monitors. The flags are bytes 112 to 117.
constexpr std::array kSfpDiagnostics{Range{{kA2, 0, 0}, 96}, Range{{kA2, 0, 96}, 10}};

// SFF-8636: the monitors behind the flags of bytes 3 to 21; identity with its checksum; what is monitored.
constexpr std::array kQsfp{Range{{kA0, 0, 22}, 36}, Range{{kA0, 0, 128}, 64}, Range{{kA0, 0, 220}, 1}};
constexpr std::array kQsfpLimits{Range{{kA0, 3, 128}, 72}};

// CMIS: state; monitors and the cause of a fault behind the flags of bytes 8 to 13; kind of media; vendor and
// part number; lanes and technology.
constexpr std::array kCmis{Range{{kA0, 0, 3}, 1}, Range{{kA0, 0, 14}, 28}, Range{{kA0, 0, 85}, 1},
                           Range{{kA0, 0, 129}, 37}, Range{{kA0, 0, 210}, 3}};
// What is monitored; limits; state of the lanes, and their monitors behind the flags of bytes 134 to 153.
constexpr std::array kCmisPages{Range{{kA0, 0x01, 130}, 126}, Range{{kA0, 0x02, 128}, 128},
                                Range{{kA0, 0x11, 128}, 4}, Range{{kA0, 0x11, 154}, 48}};

class Reading {
 public:
  explicit Reading(const ReadModule& read) : read_(read) {}

  // False: that could not be read; what came before stays.
  bool take(const Range& range) {
    if (memory_.problem) return false;
    auto bytes = read_(range.place, range.size);
    if (bytes && bytes->size() != range.size)
      bytes = fail(Errc::malformed, "a module gave " + std::to_string(bytes->size()) + " bytes, not " +
                                        std::to_string(range.size));
    if (!bytes) {
      memory_.problem = Error{bytes.error().code, to_string(range.place) + ": " + bytes.error().what};
      return false;
    }
    memory_.parts[range.place] = *std::move(bytes);
    return true;
  }
  void take_all(std::span<const Range> ranges) {
    for (const Range& range : ranges)
      if (!take(range)) return;
  }
  [[nodiscard]] std::uint8_t byte(const ModulePlace& place) const {
    const auto found = memory_.find(place, 1);
    return found ? static_cast<std::uint8_t>(found->front()) : 0;
  }
  [[nodiscard]] ModuleMemory& memory() { return memory_; }

 private:
  const ReadModule& read_;
  ModuleMemory memory_;
};

}  // namespace

std::string to_string(const ModulePlace& place) {
  const std::array<char, 2> bytes{static_cast<char>(place.i2c_address), static_cast<char>(place.page)};
  const std::string digits = to_hex({bytes.data(), bytes.size()});
  return digits.substr(0, 2) + "/" + digits.substr(2) + "/" + std::to_string(place.offset);
}

std::optional<ModulePlace> parse_module_place(std::string_view text) {
  const auto parts = split(text, '/');
  if (parts.size() != 3 || parts[0].size() != 2 || parts[1].size() != 2) return std::nullopt;
  const auto address = parse_number<std::uint8_t>(parts[0], 16);
  const auto page = parse_number<std::uint8_t>(parts[1], 16);
  const auto offset = parse_number<std::uint8_t>(parts[2]);
  if (!address || !page || !offset) return std::nullopt;
  return ModulePlace{*address, *page, *offset};
}

std::optional<std::string_view> ModuleMemory::find(const ModulePlace& place, std::size_t size) const {
  auto part = parts.upper_bound(place);
  if (part == parts.begin()) return std::nullopt;
  --part;
  if (part->first.i2c_address != place.i2c_address || part->first.page != place.page) return std::nullopt;
  const std::size_t begin = place.offset - part->first.offset;
  if (begin + size > part->second.size()) return std::nullopt;
  return std::string_view(part->second).substr(begin, size);
}

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

Result<ModuleMemory> read_module_memory(const ReadModule& read) {
  Reading reading(read);
  reading.take_all(std::span(&kBeginning, 1));
  if (const std::optional<Error> problem = reading.memory().problem) return fail(*problem);
  const std::uint8_t identifier = reading.byte({kA0, 0, 0});
  const std::uint8_t status = reading.byte({kA0, 0, 2});
  switch (module_layout(identifier)) {
    case ModuleLayout::sff8472:
      reading.take_all(kSfp);
      if (has_sfp_diagnostics(reading.byte({kA0, 0, 92}))) reading.take_all(kSfpDiagnostics);
      break;
    case ModuleLayout::sff8636:
      reading.take_all(kQsfp);
      if ((status & kQsfpFlatMemory) == 0) reading.take_all(kQsfpLimits);
      break;
    case ModuleLayout::cmis:
      reading.take_all(kCmis);
      if ((status & kCmisFlatMemory) == 0) reading.take_all(kCmisPages);
      break;
    case ModuleLayout::unknown:
      break;
  }
  return std::move(reading.memory());
}

}  // namespace autopilot::host
