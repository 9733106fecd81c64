// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <string>

#include "controller/webhook/settings.hpp"

namespace autopilot::controller {

// Which tests a pod wants before it begins: those of the labels gpu-pcie-bw and gpu-mem and of the annotation
// <prefix>/preflight together, as many as a request takes (api::PreflightRequest); without any of them those
// of the settings.
struct WantedTests {
  std::string ids;  // with commas between them; empty: those that the agent chooses
  // What of it could not be read, and those of the settings count; or which of `ids` are not known here.
  std::string warning;
};
[[nodiscard]] WantedTests wanted_tests(const boost::json::object& pod, const WebhookSettings& settings);

}  // namespace autopilot::controller
