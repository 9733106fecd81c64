// SPDX-License-Identifier: Apache-2.0
// Memory of an SFP (SFF-8472): address A0h says what it is, A2h what it measures.
#include <bit>
#include <cmath>

#include "host/ethtool/module_bytes.hpp"
#include "host/ethtool/module_layout.hpp"

namespace autopilot::host {

// The other kinds of memory have bytes of the same names.
namespace sff8472 {
namespace {

// Address A0h.
constexpr std::uint8_t kConnector = 2;
constexpr std::uint8_t kCable = 8;
constexpr std::uint8_t kVendor = 20;
constexpr std::uint8_t kPart = 40;
constexpr std::size_t kTextSize = 16;
constexpr std::uint8_t kIdentitySum = 63;
constexpr std::uint8_t kMonitoring = 92;
constexpr std::uint8_t kCopperPigtail = 0x21;
constexpr std::uint8_t kRj45 = 0x22;
constexpr std::uint8_t kPassiveCable = 0x04;
constexpr std::uint8_t kExternallyCalibrated = 0x10;

// Address A2h.
constexpr std::uint8_t kCelsiusLimits = 0;
constexpr std::uint8_t kVoltLimits = 8;
constexpr std::uint8_t kBiasLimits = 16;
constexpr std::uint8_t kSentLimits = 24;
constexpr std::uint8_t kReceivedLimits = 32;
constexpr std::uint8_t kReceivedFactors = 56;  // five floats, that of the fourth power first
constexpr std::uint8_t kBiasLine = 76;         // slope, offset
constexpr std::uint8_t kSentLine = 80;
constexpr std::uint8_t kCelsiusLine = 84;
constexpr std::uint8_t kVoltLine = 88;
constexpr std::uint8_t kLimitsSum = 95;
constexpr std::uint8_t kCelsius = 96;
constexpr std::uint8_t kVolts = 98;
constexpr std::uint8_t kBias = 100;
constexpr std::uint8_t kSent = 102;
constexpr std::uint8_t kReceived = 104;

// What an externally calibrated module measures is made right with its own constants, limits as well.
class Calibration {
 public:
  Calibration(const ModulePage& page, bool is_external) : page_(page), is_external_(is_external) {}

  [[nodiscard]] double line(std::uint8_t constants, const ModuleUnit& unit, std::uint16_t word) const {
    if (!is_external_) return unit.of(word);
    constexpr double slope_scale = 1.0 / 256;
    const double raw = unit.is_signed ? static_cast<std::int16_t>(word) : static_cast<int>(word);
    const double slope = page_.word(constants).value_or(0) * slope_scale;
    const auto offset =
        static_cast<std::int16_t>(page_.word(static_cast<std::uint8_t>(constants + 2)).value_or(0));
    return (slope * raw + offset) * unit.scale;
  }
  [[nodiscard]] double received(std::uint16_t word) const {
    if (!is_external_) return kModuleMilliwatts.of(word);
    double sum = 0;
    for (unsigned i = 0; i < 5; ++i)
      sum = sum * word + factor(static_cast<std::uint8_t>(kReceivedFactors + 4 * i));
    return sum * kModuleMilliwatts.scale;
  }

 private:
  [[nodiscard]] float factor(std::uint8_t offset) const {
    const std::uint32_t high = page_.word(offset).value_or(0);
    const std::uint32_t low = page_.word(static_cast<std::uint8_t>(offset + 2)).value_or(0);
    return std::bit_cast<float>(high << 16U | low);
  }

  const ModulePage& page_;
  bool is_external_;
};

template <class Convert>
std::optional<ModuleMonitor> read_monitor(const ModulePage& page, std::uint8_t value, std::uint8_t limits,
                                          Convert convert) {
  const auto word = page.word(value);
  if (!word) return std::nullopt;
  ModuleMonitor monitor{convert(*word), std::nullopt};
  if (!std::isfinite(monitor.value)) return std::nullopt;
  const auto limit = [&](unsigned i) {
    return convert(page.word(static_cast<std::uint8_t>(limits + 2 * i)).value_or(0));
  };
  const ModuleLimits own{limit(0), limit(1), limit(2), limit(3)};
  if (are_sensible(own)) monitor.limits = own;
  return monitor;
}

Status add_diagnostics(const ModuleMemory& memory, bool is_external, Module& module) {
  const ModulePage page(memory, 0x51, 0);
  if (!page.byte(kLimitsSum) || !page.word(kReceived))
    return fail(missing_module_part(memory, "address A2h"));
  // Some kernels answer with A0h for A2h where the driver has only the older operation (mended in Linux 6.0).
  if (page.bytes(kVendor, kTextSize) == memory.find({0x50, 0, kVendor}, kTextSize))
    return fail(Errc::unavailable, "module memory: the kernel gives address A0h for A2h");
  if (!page.is_sound(0, kLimitsSum))
    return fail(Errc::malformed, "module memory: the checksum of the limits is wrong");
  const Calibration calibration(page, is_external);
  module.celsius = read_monitor(page, kCelsius, kCelsiusLimits, [&](std::uint16_t word) {
    return calibration.line(kCelsiusLine, kModuleCelsius, word);
  });
  module.volts = read_monitor(page, kVolts, kVoltLimits, [&](std::uint16_t word) {
    return calibration.line(kVoltLine, kModuleVolts, word);
  });
  if (module.is_copper) return {};
  ModuleLane lane;
  lane.bias_ma = read_monitor(page, kBias, kBiasLimits, [&](std::uint16_t word) {
    return calibration.line(kBiasLine, kModuleMilliamperes, word);
  });
  lane.sent_mw = read_monitor(page, kSent, kSentLimits, [&](std::uint16_t word) {
    return calibration.line(kSentLine, kModuleMilliwatts, word);
  });
  lane.received_mw = read_monitor(page, kReceived, kReceivedLimits,
                                  [&](std::uint16_t word) { return calibration.received(word); });
  module.lanes.push_back(lane);
  return {};
}

// The identity is read in two parts, because the first bytes tell which layout it is.
bool is_identity_sound(const ModuleMemory& memory) {
  const auto beginning = memory.find({0x50, 0, 0}, 3);
  const auto rest = memory.find({0x50, 0, 3}, kIdentitySum - 2);
  if (!beginning || !rest) return false;
  ModuleMemory whole;
  whole.parts[{0x50, 0, 0}] = std::string(*beginning).append(*rest);
  return ModulePage(whole, 0x50, 0).is_sound(0, kIdentitySum);
}

}  // namespace
}  // namespace sff8472

Result<Module> parse_sff8472(const ModuleMemory& memory) {
  using namespace sff8472;
  const ModulePage page(memory, 0x50, 0);
  const auto monitoring = page.byte(kMonitoring);
  if (!monitoring) return fail(missing_module_part(memory, "address A0h"));
  if (!is_identity_sound(memory))
    return fail(Errc::malformed, "module memory: the checksum of the identity is wrong");
  Module module;
  module.kind = "SFP";
  module.vendor = page.text(kVendor, kTextSize);
  module.part = page.text(kPart, kTextSize);
  const std::uint8_t connector = page.byte(kConnector).value_or(0);
  module.is_copper = (page.byte(kCable).value_or(0) & kPassiveCable) != 0 || connector == kCopperPigtail ||
                     connector == kRj45;
  if (has_sfp_diagnostics(*monitoring))
    TRY_STATUS(add_diagnostics(memory, (*monitoring & kExternallyCalibrated) != 0, module));
  return module;
}

}  // namespace autopilot::host
