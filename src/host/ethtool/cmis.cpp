// SPDX-License-Identifier: Apache-2.0
// Memory of a QSFP-DD, OSFP and the like (CMIS 4 and 5). Bank 0, which has the first eight lanes.
#include <array>
#include <string_view>

#include "host/ethtool/module_bytes.hpp"
#include "host/ethtool/module_layout.hpp"

namespace autopilot::host {

// The other kinds of memory have bytes of the same names.
namespace cmis {
namespace {

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
    const ModuleUnit bias{kModuleMilliamperes.scale * (1U << (support_ >> kBiasFactorAt & 3U))};
    const auto received_limits = read_module_limits(limits_, kReceivedLimits, kModuleMilliwatts);
    const auto sent_limits = read_module_limits(limits_, kSentLimits, kModuleMilliwatts);
    const auto bias_limits = read_module_limits(limits_, kBiasLimits, bias);
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((unsigned{unused} >> i & 1U) != 0 || !is_activated(i)) continue;
      const auto at = [i](std::uint8_t first) { return static_cast<std::uint8_t>(first + 2 * i); };
      ModuleLane lane;
      lane.number = static_cast<int>(i) + 1;
      if ((support_ & kHasReceived) != 0)
        lane.received_mw = read_module_monitor(page_, at(kReceived), kModuleMilliwatts, received_limits);
      if ((support_ & kHasSent) != 0)
        lane.sent_mw = read_module_monitor(page_, at(kSent), kModuleMilliwatts, sent_limits);
      if ((support_ & kHasBias) != 0) lane.bias_ma = read_module_monitor(page_, at(kBias), bias, bias_limits);
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
  if (!monitors || !limits.byte(kPageSum)) return fail(missing_module_part(memory, "page 02h"));
  if (!support.is_sound(kSupportBegin, kPageSum) || !limits.is_sound(kLimitsBegin, kPageSum))
    return fail(Errc::malformed, "module memory: the checksum of page 01h or 02h is wrong");
  if ((*monitors & kHasCelsius) != 0)
    module.celsius = read_module_monitor(page, kCelsius, kModuleCelsius,
                                         read_module_limits(limits, kCelsiusLimits, kModuleCelsius));
  if ((*monitors & kHasVolts) != 0)
    module.volts = read_module_monitor(page, kVolts, kModuleVolts,
                                       read_module_limits(limits, kVoltLimits, kModuleVolts));
  Lanes(memory, support.byte(kLaneMonitors).value_or(0)).add_to(module, page.byte(kUnusedLanes).value_or(0));
  return {};
}

}  // namespace
}  // namespace cmis

Result<Module> parse_cmis(const ModuleMemory& memory) {
  using namespace cmis;
  const ModulePage page(memory, 0x50, 0);
  const auto state = page.byte(kState);
  const auto media = page.byte(kMedia);
  if (!state || !media || !page.byte(kUnusedLanes)) return fail(missing_module_part(memory, "page 00h"));
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

}  // namespace autopilot::host
