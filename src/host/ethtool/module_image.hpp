// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "host/ethtool/module_memory.hpp"

namespace autopilot::host {

// The memory of a module that does not exist, for the simulator and for tests. What it measures is plausible.
class ModuleImage {
 public:
  // 25GBASE-SR, 100GBASE-SR4, 400GBASE-SR8.
  static ModuleImage sfp28() {
    ModuleImage image;
    image.set({kA0, 0, 0}, 0x03);
    image.set({kA0, 0, 2}, 0x07);
    image.write({kA0, 0, 20}, "EXAMPLE OPTICS  ");
    image.write({kA0, 0, 40}, "EX-25G-SR       ");
    image.set({kA0, 0, 92}, 0x68);
    image.set_limits({kA2, 0, 0}, kCelsius);
    image.set_limits({kA2, 0, 8}, kVolts);
    image.set_limits({kA2, 0, 16}, kBias);
    image.set_limits({kA2, 0, 24}, kSent);
    image.set_limits({kA2, 0, 32}, kReceived);
    image.set_word({kA2, 0, 96}, kUsualCelsius);
    image.set_word({kA2, 0, 98}, kUsualVolts);
    image.set_word({kA2, 0, 100}, kUsualBias);
    image.set_word({kA2, 0, 102}, kUsualSent);
    image.set_word({kA2, 0, 104}, kUsualReceived);
    image.seal();
    return image;
  }
  static ModuleImage qsfp28() {
    ModuleImage image;
    image.set({kA0, 0, 0}, 0x11);
    image.set({kA0, 0, 1}, 0x07);
    image.set_word({kA0, 0, 22}, kUsualCelsius);
    image.set_word({kA0, 0, 26}, kUsualVolts);
    image.set_lanes({kA0, 0, 34}, 4, kUsualReceived);
    image.set_lanes({kA0, 0, 42}, 4, kUsualBias);
    image.set_lanes({kA0, 0, 50}, 4, kUsualSent);
    image.set({kA0, 0, 128}, 0x11);
    image.write({kA0, 0, 148}, "EXAMPLE OPTICS  ");
    image.write({kA0, 0, 168}, "EX-100G-SR4     ");
    image.set({kA0, 0, 220}, 0x3C);
    image.set_limits({kA0, 3, 128}, kCelsius);
    image.set_limits({kA0, 3, 144}, kVolts);
    image.set_limits({kA0, 3, 176}, kReceived);
    image.set_limits({kA0, 3, 184}, kBias);
    image.set_limits({kA0, 3, 192}, kSent);
    image.seal();
    return image;
  }
  static ModuleImage qsfp_dd() {
    ModuleImage image;
    image.set({kA0, 0, 0}, 0x18);
    image.set({kA0, 0, 1}, 0x40);
    image.set({kA0, 0, 3}, 0x07);
    image.set_word({kA0, 0, 14}, kUsualCelsius);
    image.set_word({kA0, 0, 16}, kUsualVolts);
    image.set({kA0, 0, 85}, 0x01);
    image.write({kA0, 0, 129}, "EXAMPLE OPTICS  ");
    image.write({kA0, 0, 148}, "EX-400G-SR8     ");
    image.set({kA0, 1, 159}, 0x03);
    image.set({kA0, 1, 160}, 0x07);
    image.set_limits({kA0, 2, 128}, kCelsius);
    image.set_limits({kA0, 2, 136}, kVolts);
    image.set_limits({kA0, 2, 176}, kSent);
    image.set_limits({kA0, 2, 184}, kBias);
    image.set_limits({kA0, 2, 192}, kReceived);
    for (std::uint8_t i = 0; i < 4; ++i)
      image.set({kA0, 0x11, static_cast<std::uint8_t>(128 + i)}, 0x44);
    image.set_lanes({kA0, 0x11, 154}, 8, kUsualSent);
    image.set_lanes({kA0, 0x11, 170}, 8, kUsualBias);
    image.set_lanes({kA0, 0x11, 186}, 8, kUsualReceived);
    image.seal();
    return image;
  }

  void set(const ModulePlace& place, std::uint8_t byte) {
    bytes_[{place.i2c_address, place.page}].at(place.offset) = static_cast<char>(byte);
  }
  void set_word(const ModulePlace& place, std::uint16_t word) {
    set(place, static_cast<std::uint8_t>(word >> 8U));
    set({place.i2c_address, place.page, static_cast<std::uint8_t>(place.offset + 1)},
        static_cast<std::uint8_t>(word & 255U));
  }
  void write(const ModulePlace& place, std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
      set({place.i2c_address, place.page, static_cast<std::uint8_t>(place.offset + i)},
          static_cast<std::uint8_t>(text[i]));
  }
  // Makes every checksum right.
  void seal() {
    const auto identifier = static_cast<std::uint8_t>(byte({kA0, 0, 0}));
    if (identifier == 0x03) {
      seal({kA0, 0, 0}, 63);
      seal({kA2, 0, 0}, 95);
    } else if (identifier == 0x11) {
      seal({kA0, 0, 128}, 191);
    } else {
      seal({kA0, 1, 130}, 255);
      seal({kA0, 2, 128}, 255);
    }
  }

  [[nodiscard]] char byte(const ModulePlace& place) const {
    const auto page = bytes_.find({place.i2c_address, place.page});
    return page == bytes_.end() ? '\0' : page->second.at(place.offset);
  }
  // Answers every question, like a module that has all its pages.
  [[nodiscard]] Result<std::string> read(const ModulePlace& place, std::size_t size) const {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i)
      bytes += byte({place.i2c_address, place.page, static_cast<std::uint8_t>(place.offset + i)});
    return bytes;
  }
  [[nodiscard]] Result<ModuleMemory> memory() const {
    return read_module_memory(
        [this](const ModulePlace& place, std::size_t size) { return read(place, size); });
  }

  // Tenths of a microwatt.
  [[nodiscard]] static std::uint16_t light(double dbm) {
    return static_cast<std::uint16_t>(std::lround(std::pow(10.0, dbm / 10) * 10000));
  }
  // 256th of a degree.
  [[nodiscard]] static std::uint16_t heat(double celsius) {
    return static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(celsius * 256)));
  }

 private:
  static constexpr std::uint8_t kA0 = 0x50;
  static constexpr std::uint8_t kA2 = 0x51;

  // High alarm, low alarm, high warning, low warning, as the memory holds them.
  using Limits = std::array<std::uint16_t, 4>;
  static constexpr Limits kCelsius{75 * 256, 0xFB00, 70 * 256, 0};  // 75, -5, 70, 0
  static constexpr Limits kVolts{36300, 29700, 34650, 31350};       // 3.63, 2.97, 3.465, 3.135
  static constexpr Limits kBias{6000, 1000, 5500, 1250};            // 12, 2, 11, 2.5 mA
  static constexpr Limits kSent{22387, 1479, 17783, 1862};          // 3.5, -8.3, 2.5, -7.3 dBm
  static constexpr Limits kReceived{21878, 776, 17378, 977};        // 3.4, -11.1, 2.4, -10.1 dBm
  static constexpr std::uint16_t kUsualCelsius = 38 * 256;
  static constexpr std::uint16_t kUsualVolts = 33000;
  static constexpr std::uint16_t kUsualBias = 3600;      // 7.2 mA
  static constexpr std::uint16_t kUsualSent = 7943;      // -1 dBm
  static constexpr std::uint16_t kUsualReceived = 6310;  // -2 dBm

  void set_limits(const ModulePlace& place, const Limits& limits) {
    for (std::size_t i = 0; i < limits.size(); ++i)
      set_word({place.i2c_address, place.page, static_cast<std::uint8_t>(place.offset + 2 * i)},
               limits.at(i));
  }
  void set_lanes(const ModulePlace& place, int lanes, std::uint16_t word) {
    for (int i = 0; i < lanes; ++i)
      set_word({place.i2c_address, place.page, static_cast<std::uint8_t>(place.offset + 2 * i)}, word);
  }
  void seal(const ModulePlace& begin, std::uint8_t at) {
    unsigned sum = 0;
    for (unsigned i = begin.offset; i < at; ++i)
      sum += static_cast<std::uint8_t>(byte({begin.i2c_address, begin.page, static_cast<std::uint8_t>(i)}));
    set({begin.i2c_address, begin.page, at}, static_cast<std::uint8_t>(sum));
  }

  std::map<std::pair<std::uint8_t, std::uint8_t>, std::array<char, 256>> bytes_;  // by address and page
};

}  // namespace autopilot::host
