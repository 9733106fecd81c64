// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/module.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "core/text.hpp"
#include "host/ethtool/module_memory.hpp"

namespace autopilot::host {
namespace {

// How a number in the memory becomes a quantity.
struct Unit {
  double scale = 1;
  bool is_signed = false;
  [[nodiscard]] double of(std::uint16_t word) const {
    return scale * (is_signed ? static_cast<std::int16_t>(word) : static_cast<int>(word));
  }
};

constexpr Unit kModuleCelsius{1.0 / 256, true};
constexpr Unit kModuleVolts{0.0001};
constexpr Unit kModuleMilliwatts{0.0001};
constexpr Unit kModuleMilliamperes{0.002};

bool are_sensible(const ModuleLimits& limits) {
  return limits.high_alarm > limits.low_alarm && limits.high_warning > limits.low_warning &&
         limits.high_alarm >= limits.high_warning && limits.low_alarm <= limits.low_warning;
}

// Four words: high alarm, low alarm, high warning, low warning. Limits that no value could keep are none:
// modules that have no limits answer with zeros, or with ones.
std::optional<ModuleLimits> limits_at(const ModulePage& page, std::uint8_t offset, const Unit& unit) {
  std::array<double, 4> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto word = page.word(static_cast<std::uint8_t>(offset + 2 * i));
    if (!word) return std::nullopt;
    values.at(i) = unit.of(*word);
  }
  const ModuleLimits limits{values[0], values[1], values[2], values[3]};
  return are_sensible(limits) ? std::optional(limits) : std::nullopt;
}

// A word with limits; nothing where it was not read.
std::optional<ModuleMonitor> monitor_at(const ModulePage& page, std::uint8_t offset, const Unit& unit,
                                        const std::optional<ModuleLimits>& limits) {
  const auto word = page.word(offset);
  if (!word) return std::nullopt;
  return ModuleMonitor{unit.of(*word), limits};
}

// The error where a part that is needed is not there: why it could not be read, if that is known.
Error missing_part(const ModuleMemory& memory, std::string_view what) {
  if (memory.problem) return *memory.problem;
  return {Errc::unavailable, "module memory: " + std::string(what) + " was not read"};
}

// The layouts. Each expects the parts that read_module_memory takes for it.

// Memory of an SFP (SFF-8472): address A0h holds the identity, A2h the measurements.
namespace sff8472 {

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

  [[nodiscard]] double line(std::uint8_t constants, const Unit& unit, std::uint16_t word) const {
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
  if (!page.byte(kLimitsSum) || !page.word(kReceived)) return fail(missing_part(memory, "address A2h"));
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

// The identity is read in two parts, because the first bytes determine the layout.
bool is_identity_sound(const ModuleMemory& memory) {
  const auto beginning = memory.find({0x50, 0, 0}, 3);
  const auto rest = memory.find({0x50, 0, 3}, kIdentitySum - 2);
  if (!beginning || !rest) return false;
  ModuleMemory whole;
  whole.parts[{0x50, 0, 0}] = std::string(*beginning).append(*rest);
  return ModulePage(whole, 0x50, 0).is_sound(0, kIdentitySum);
}

Result<Module> parse(const ModuleMemory& memory) {
  const ModulePage page(memory, 0x50, 0);
  const auto monitoring = page.byte(kMonitoring);
  if (!monitoring) return fail(missing_part(memory, "address A0h"));
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

}  // namespace sff8472

// Memory of a QSFP+ or QSFP28 (SFF-8636).
namespace sff8636 {

constexpr int kLanes = 4;

// Page 00h.
constexpr std::uint8_t kStatus = 2;
constexpr std::uint8_t kNotReady = 0x01;
constexpr std::uint8_t kCelsius = 22;
constexpr std::uint8_t kVolts = 26;
constexpr std::uint8_t kReceived = 34;
constexpr std::uint8_t kBias = 42;
constexpr std::uint8_t kSent = 50;
constexpr std::uint8_t kIdentity = 128;
constexpr std::uint8_t kTechnology = 147;  // upper half of the byte
constexpr unsigned kCopper = 0xA;          // and all above it
constexpr unsigned kActiveCopper = 0xC;    // and all above it
constexpr std::uint8_t kVendor = 148;
constexpr std::uint8_t kPart = 168;
constexpr std::size_t kTextSize = 16;
constexpr std::uint8_t kIdentitySum = 191;
constexpr std::uint8_t kMonitoring = 220;
constexpr std::uint8_t kSentIsMonitored = 0x04;

// Page 03h.
constexpr std::uint8_t kCelsiusLimits = 128;
constexpr std::uint8_t kVoltLimits = 144;
constexpr std::uint8_t kReceivedLimits = 176;
constexpr std::uint8_t kBiasLimits = 184;
constexpr std::uint8_t kSentLimits = 192;

void add_lanes(const ModulePage& page, const ModulePage& limits, bool has_sent, Module& module) {
  const auto received = limits_at(limits, kReceivedLimits, kModuleMilliwatts);
  const auto bias = limits_at(limits, kBiasLimits, kModuleMilliamperes);
  const auto sent = limits_at(limits, kSentLimits, kModuleMilliwatts);
  for (int i = 0; i < kLanes; ++i) {
    const auto at = [i](std::uint8_t first) { return static_cast<std::uint8_t>(first + 2 * i); };
    ModuleLane lane;
    lane.number = i + 1;
    lane.received_mw = monitor_at(page, at(kReceived), kModuleMilliwatts, received);
    lane.bias_ma = monitor_at(page, at(kBias), kModuleMilliamperes, bias);
    if (has_sent) lane.sent_mw = monitor_at(page, at(kSent), kModuleMilliwatts, sent);
    module.lanes.push_back(lane);
  }
}

Result<Module> parse(const ModuleMemory& memory) {
  const ModulePage page(memory, 0x50, 0);
  const ModulePage limits(memory, 0x50, 3);
  const auto monitoring = page.byte(kMonitoring);
  if (!monitoring) return fail(missing_part(memory, "page 00h"));
  if (!page.is_sound(kIdentity, kIdentitySum))
    return fail(Errc::malformed, "module memory: the checksum of the identity is wrong");
  Module module;
  module.kind = "QSFP";
  module.vendor = page.text(kVendor, kTextSize);
  module.part = page.text(kPart, kTextSize);
  const unsigned technology = page.byte(kTechnology).value_or(0) >> 4U;
  module.is_copper = technology >= kCopper;
  // Nothing measures in a passive cable: what such a cable has in place of a monitor means nothing.
  if (module.is_copper && technology < kActiveCopper) return module;
  const std::uint8_t status = page.byte(kStatus).value_or(0);
  if ((status & kNotReady) != 0) return fail(Errc::unavailable, "the module is not ready");
  module.celsius =
      monitor_at(page, kCelsius, kModuleCelsius, limits_at(limits, kCelsiusLimits, kModuleCelsius));
  module.volts = monitor_at(page, kVolts, kModuleVolts, limits_at(limits, kVoltLimits, kModuleVolts));
  if (!module.is_copper) add_lanes(page, limits, (*monitoring & kSentIsMonitored) != 0, module);
  return module;
}

}  // namespace sff8636

// Memory of a QSFP-DD, OSFP and the like (CMIS 4 and 5). Bank 0, which has the first eight lanes.
namespace cmis {

constexpr int kLanes = 8;

// Lower half and page 00h.
constexpr std::uint8_t kMemory = 2;
constexpr std::uint8_t kState = 3;  // bits 3 to 1
constexpr std::uint8_t kCelsius = 14;
constexpr std::uint8_t kVolts = 16;
constexpr std::uint8_t kFaultCause = 41;
constexpr std::uint8_t kMedia = 85;
constexpr std::uint8_t kPassiveCopper = 3;
constexpr std::uint8_t kBaseT = 5;
constexpr std::uint8_t kVendor = 129;
constexpr std::uint8_t kPart = 148;
constexpr std::size_t kTextSize = 16;
constexpr std::uint8_t kUnusedLanes = 210;  // a bit for each

// Page 01h.
constexpr std::uint8_t kSupportBegin = 130;
constexpr std::uint8_t kModuleMonitors = 159;
constexpr std::uint8_t kHasCelsius = 0x01;
constexpr std::uint8_t kHasVolts = 0x02;
constexpr std::uint8_t kLaneMonitors = 160;
constexpr std::uint8_t kHasBias = 0x01;
constexpr std::uint8_t kHasSent = 0x02;
constexpr std::uint8_t kHasReceived = 0x04;
constexpr unsigned kBiasFactorAt = 3;  // two bits: 1, 2 or 4

// Page 02h.
constexpr std::uint8_t kLimitsBegin = 128;
constexpr std::uint8_t kCelsiusLimits = 128;
constexpr std::uint8_t kVoltLimits = 136;
constexpr std::uint8_t kSentLimits = 176;
constexpr std::uint8_t kBiasLimits = 184;
constexpr std::uint8_t kReceivedLimits = 192;
constexpr std::uint8_t kPageSum = 255;  // of pages 01h and 02h

// Page 11h.
constexpr std::uint8_t kLaneStates = 128;  // four bits for each
constexpr unsigned kActivated = 4;
constexpr std::uint8_t kSent = 154;
constexpr std::uint8_t kBias = 170;
constexpr std::uint8_t kReceived = 186;

constexpr unsigned kFault = 5;
constexpr std::array<std::string_view, 6> kStates{"",      "low_power",     "powering_up",
                                                  "ready", "powering_down", "fault"};
constexpr std::array<std::string_view, 4> kFaultCauses{"", "the cooler of the laser ran away",
                                                       "the memory of its data is damaged",
                                                       "the memory of its program is damaged"};

class Lanes {
 public:
  Lanes(const ModuleMemory& memory, std::uint8_t support)
      : page_(memory, 0x50, 0x11), limits_(memory, 0x50, 0x02), support_(support) {}

  void add_to(Module& module, std::uint8_t unused) const {
    const Unit bias{kModuleMilliamperes.scale * (1U << (support_ >> kBiasFactorAt & 3U))};
    const auto received_limits = limits_at(limits_, kReceivedLimits, kModuleMilliwatts);
    const auto sent_limits = limits_at(limits_, kSentLimits, kModuleMilliwatts);
    const auto bias_limits = limits_at(limits_, kBiasLimits, bias);
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((unsigned{unused} >> i & 1U) != 0 || !is_activated(i)) continue;
      const auto at = [i](std::uint8_t first) { return static_cast<std::uint8_t>(first + 2 * i); };
      ModuleLane lane;
      lane.number = static_cast<int>(i) + 1;
      if ((support_ & kHasReceived) != 0)
        lane.received_mw = monitor_at(page_, at(kReceived), kModuleMilliwatts, received_limits);
      if ((support_ & kHasSent) != 0)
        lane.sent_mw = monitor_at(page_, at(kSent), kModuleMilliwatts, sent_limits);
      if ((support_ & kHasBias) != 0) lane.bias_ma = monitor_at(page_, at(kBias), bias, bias_limits);
      if (lane.received_mw || lane.sent_mw || lane.bias_ma) module.lanes.push_back(lane);
    }
  }

 private:
  [[nodiscard]] bool is_activated(unsigned lane) const {
    const auto states = page_.byte(static_cast<std::uint8_t>(kLaneStates + lane / 2));
    return states && (unsigned{*states} >> (lane % 2 * 4) & 15U) == kActivated;
  }

  ModulePage page_;
  ModulePage limits_;
  std::uint8_t support_;
};

Status add_diagnostics(const ModuleMemory& memory, const ModulePage& page, Module& module) {
  const ModulePage support(memory, 0x50, 0x01);
  const ModulePage limits(memory, 0x50, 0x02);
  const auto monitors = support.byte(kModuleMonitors);
  if (!monitors || !limits.byte(kPageSum)) return fail(missing_part(memory, "page 02h"));
  if (!support.is_sound(kSupportBegin, kPageSum) || !limits.is_sound(kLimitsBegin, kPageSum))
    return fail(Errc::malformed, "module memory: the checksum of page 01h or 02h is wrong");
  if ((*monitors & kHasCelsius) != 0)
    module.celsius =
        monitor_at(page, kCelsius, kModuleCelsius, limits_at(limits, kCelsiusLimits, kModuleCelsius));
  if ((*monitors & kHasVolts) != 0)
    module.volts = monitor_at(page, kVolts, kModuleVolts, limits_at(limits, kVoltLimits, kModuleVolts));
  Lanes(memory, support.byte(kLaneMonitors).value_or(0)).add_to(module, page.byte(kUnusedLanes).value_or(0));
  return {};
}

Result<Module> parse(const ModuleMemory& memory) {
  const ModulePage page(memory, 0x50, 0);
  const auto state = page.byte(kState);
  const auto media = page.byte(kMedia);
  if (!state || !media || !page.byte(kUnusedLanes)) return fail(missing_part(memory, "page 00h"));
  Module module;
  module.kind = "CMIS";
  module.vendor = page.text(kVendor, kTextSize);
  module.part = page.text(kPart, kTextSize);
  module.is_copper = *media == kPassiveCopper || *media == kBaseT;
  const unsigned number = *state >> 1U & 7U;
  if (number < kStates.size()) module.state = kStates.at(number);
  if (number == kFault) {
    const std::uint8_t cause = page.byte(kFaultCause).value_or(0);
    module.fault =
        cause < kFaultCauses.size() ? std::string(kFaultCauses.at(cause)) : "cause " + std::to_string(cause);
    return module;
  }
  const bool is_flat = (page.byte(kMemory).value_or(0) & kCmisFlatMemory) != 0;
  if (!is_flat) TRY_STATUS(add_diagnostics(memory, page, module));
  return module;
}

}  // namespace cmis

}  // namespace

Result<Module> parse_module(const ModuleMemory& memory) {
  const auto beginning = memory.find({0x50, 0, 0}, 3);
  if (!beginning) return fail(missing_part(memory, "the beginning"));
  const auto identifier = static_cast<std::uint8_t>(beginning->front());
  if (beginning->find_first_not_of('\xFF') == std::string_view::npos)
    return fail(Errc::malformed, "module memory: all bytes are FFh, as on a bus without an answer");
  switch (module_layout(identifier)) {
    case ModuleLayout::sff8472:
      return sff8472::parse(memory);
    case ModuleLayout::sff8636:
      return sff8636::parse(memory);
    case ModuleLayout::cmis:
      return cmis::parse(memory);
    case ModuleLayout::unknown:
      break;
  }
  return fail(Errc::unsupported,
              "module memory: identifier " + to_hex(beginning->substr(0, 1)) + "h is not known here");
}

}  // namespace autopilot::host
