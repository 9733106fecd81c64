// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/custom/script_check.hpp"

namespace autopilot::checks {

inline constexpr std::string_view kLogRulesCheck = "custom.log_rules";

// What the kernel wrote, by the log rules of the operator (catalog/operator_rules.hpp). judge needs a catalog
// with these rules. Lines of the NVIDIA driver that are Xids or SXids are left to gpu.xid.
[[nodiscard]] Check log_rules_check(const std::vector<catalog::LogRule>& rules);

}  // namespace autopilot::checks
