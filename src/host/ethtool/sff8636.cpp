// SPDX-License-Identifier: Apache-2.0
// Memory of a QSFP+ or QSFP28 (SFF-8636).
#include "host/ethtool/module_bytes.hpp"
#include "host/ethtool/module_layout.hpp"

namespace autopilot::host {

// The other kinds of memory have bytes of the same names.
namespace sff8636 {
namespace {

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
  const auto received = read_module_limits(limits, kReceivedLimits, kModuleMilliwatts);
  const auto bias = read_module_limits(limits, kBiasLimits, kModuleMilliamperes);
  const auto sent = read_module_limits(limits, kSentLimits, kModuleMilliwatts);
  for (int i = 0; i < kLanes; ++i) {
    const auto at = [i](std::uint8_t first) { return static_cast<std::uint8_t>(first + 2 * i); };
    ModuleLane lane;
    lane.number = i + 1;
    lane.received_mw = read_module_monitor(page, at(kReceived), kModuleMilliwatts, received);
    lane.bias_ma = read_module_monitor(page, at(kBias), kModuleMilliamperes, bias);
    if (has_sent) lane.sent_mw = read_module_monitor(page, at(kSent), kModuleMilliwatts, sent);
    module.lanes.push_back(lane);
  }
}

}  // namespace
}  // namespace sff8636

Result<Module> parse_sff8636(const ModuleMemory& memory) {
  using namespace sff8636;
  const ModulePage page(memory, 0x50, 0);
  const ModulePage limits(memory, 0x50, 3);
  const auto monitoring = page.byte(kMonitoring);
  if (!monitoring) return fail(missing_module_part(memory, "page 00h"));
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
  module.celsius = read_module_monitor(page, kCelsius, kModuleCelsius,
                                       read_module_limits(limits, kCelsiusLimits, kModuleCelsius));
  module.volts =
      read_module_monitor(page, kVolts, kModuleVolts, read_module_limits(limits, kVoltLimits, kModuleVolts));
  if (!module.is_copper) add_lanes(page, limits, (*monitoring & kSentIsMonitored) != 0, module);
  return module;
}

}  // namespace autopilot::host
