// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>

#include "controller/webhook/accelerators.hpp"
#include "controller/webhook/settings.hpp"

namespace autopilot::controller {

// The tests that a pod requests: from the labels gpu-pcie-bw and gpu-mem and the annotation
// <prefix>/preflight, up to the limit of api::PreflightRequest; without any of them, the tests of the
// settings.
struct WantedTests {
  std::string ids;  // separated by commas; empty: the agent chooses
  // The part that is invalid, in which case the settings apply, or the ids that are unknown here.
  std::string warning;
};
[[nodiscard]] WantedTests wanted_tests(const boost::json::object& pod, const WebhookSettings& settings);

// The additions to a pod: an init container before all others, and the volume with its token. Pure.

// Contains all members that an API server stores, including its defaults.
[[nodiscard]] boost::json::object preflight_container(const boost::json::object& pod,
                                                      const AcceleratorNeeds& needs, const std::string& tests,
                                                      const WebhookSettings& settings);
[[nodiscard]] boost::json::object preflight_volume();

// Copies into `wanted` the changes that policies of the cluster made to the existing container: the pull
// policy, and limits of resources that are not accelerators. Such a policy checks the pod again after this
// webhook, and can refuse it without them.
void keep_rules_of_cluster(boost::json::object& wanted, const boost::json::object& present,
                           const AcceleratorNames& names);
// True if `present` is equivalent to `wanted`; ignores defaults that an API server adds.
[[nodiscard]] bool is_as_wanted(const boost::json::object& present, const boost::json::object& wanted);

}  // namespace autopilot::controller
