// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"

namespace autopilot::docs {

// Rules for Prometheus: one per reason and health that a finding can have, and those about the agent itself.
[[nodiscard]] std::string alert_rules(const catalog::Catalog& facts);

}  // namespace autopilot::docs
