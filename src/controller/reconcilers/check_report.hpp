// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "controller/planner/facts.hpp"
#include "kube/objects.hpp"

namespace autopilot::controller {

// "/apis/autopilot.ibm.com/v1alpha1/namespaces/<name_space>/healthcheckreports"
[[nodiscard]] std::string check_reports_path(std::string_view name_space);

// What plans are made of in a HealthCheckReport.
struct CheckReport {
  kube::Meta meta;
  Report fact;
};
[[nodiscard]] CheckReport parse_check_report(const kube::JsonObject& object);

}  // namespace autopilot::controller
