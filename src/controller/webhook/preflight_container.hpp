// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>

#include "controller/webhook/accelerators.hpp"
#include "controller/webhook/settings.hpp"

// What a pod gets: a container that begins before all others, and the volume with its token. Pure.
namespace autopilot::controller {

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
