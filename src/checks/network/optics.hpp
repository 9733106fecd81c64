// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "checks/check.hpp"

// Observations of network.optics, shared by the two halves of the check: observe and judge.
namespace autopilot::checks::network_optics {

inline constexpr std::string_view kEthtool = "ethtool";
inline constexpr std::string_view kModuleMemory = "module memory";

// About each port.
inline constexpr std::string_view kPort = "port";  // missing: the port could not be read
inline constexpr std::string_view kUp = "up";
inline constexpr std::string_view kCarrier = "carrier";
inline constexpr std::string_view kCarrierChanges = "carrier_changes";
inline constexpr std::string_view kLinkReason = "link.reason";  // attribute `detail`
inline constexpr std::string_view kSignalQuality = "link.signal_quality";
inline constexpr std::string_view kFecMode = "fec.mode";
inline constexpr std::string_view kCorrected = "fec.corrected";
inline constexpr std::string_view kUncorrectable = "fec.uncorrectable";
inline constexpr std::string_view kModule = "module";  // kind; attributes vendor, part, copper, problem
inline constexpr std::string_view kModuleState = "module.state";  // attribute `cause`
// Measurements of the module, with its own limits as attributes.
inline constexpr std::string_view kTemperature = "module.temperature";
inline constexpr std::string_view kVoltage = "module.voltage";
// The same for each lane; the name ends with a point and the lane number.
inline constexpr std::string_view kReceived = "module.received";
inline constexpr std::string_view kSent = "module.sent";
inline constexpr std::string_view kCurrent = "module.current";

inline constexpr std::string_view kHighAlarm = "highAlarm";
inline constexpr std::string_view kHighWarning = "highWarning";
inline constexpr std::string_view kLowWarning = "lowWarning";
inline constexpr std::string_view kLowAlarm = "lowAlarm";

inline constexpr std::string_view kSparedPort = "spared";

inline constexpr Duration kWindow = std::chrono::minutes{10};

[[nodiscard]] Findings judge(const JudgeInput& input);

}  // namespace autopilot::checks::network_optics
