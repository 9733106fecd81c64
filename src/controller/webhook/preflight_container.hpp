// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>

#include "controller/webhook/accelerators.hpp"
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

// What a pod gets: a container that begins before all others, and the volume with its token. Pure.

// Every member as an API server keeps it, also what it would add.
[[nodiscard]] boost::json::object preflight_container(const boost::json::object& pod,
                                                      const AcceleratorNeeds& needs, const std::string& tests,
                                                      const WebhookSettings& settings);
[[nodiscard]] boost::json::object preflight_volume();

// Puts into `wanted` what the cluster's own rules set in the container that is there: when its image is
// pulled, and limits of what is no accelerator. A rule of the cluster looks at the pod again after us and may
// refuse one without.
void keep_rules_of_cluster(boost::json::object& wanted, const boost::json::object& present,
                           const AcceleratorNames& names);
// `present` does what `wanted` does. What an API server adds by itself makes no difference.
[[nodiscard]] bool is_as_wanted(const boost::json::object& present, const boost::json::object& wanted);

}  // namespace autopilot::controller
