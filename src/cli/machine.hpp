// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "catalog/catalog.hpp"
#include "checks/check.hpp"
#include "cli/open_machine.hpp"
#include "config/config.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// Built-in checks and, on this machine, the checks that its operator added.
struct MachineChecks {
  std::vector<checks::Check> checks;  // own their dependencies
  std::shared_ptr<const catalog::Catalog> facts;
  std::shared_ptr<const checks::OperatorRules> operator_rules;  // null: no rules
};

// malformed: lists every problem of the log rule files.
[[nodiscard]] Result<MachineChecks> checks_of(const MachineChoice& choice, const config::Config& config);

// malformed: lists every problem, with file and line.
[[nodiscard]] Result<std::vector<catalog::LogRule>> read_log_rules(const std::vector<std::string>& files);

}  // namespace autopilot::cli
