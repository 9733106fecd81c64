// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>

#include "controller/webhook/settings.hpp"

namespace autopilot::controller {

inline constexpr std::size_t kMostTests = 32;

// Which tests a pod wants before it begins: those of the labels gpu-pcie-bw and gpu-mem and of the annotation
// <prefix>/preflight together; without any of them those of the settings.
struct WantedTests {
  std::string ids;      // with commas between them; empty: those that the agent chooses
  std::string warning;  // what of it could not be read; those of the settings count then
};
[[nodiscard]] WantedTests wanted_tests(const boost::json::object& pod, const WebhookSettings& settings);

}  // namespace autopilot::controller
