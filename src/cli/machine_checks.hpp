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

// What is built in and, on this machine, what its operator added.
struct MachineChecks {
  std::vector<checks::Check> checks;  // own what they need
  std::shared_ptr<const catalog::Catalog> facts;
  std::shared_ptr<const checks::OperatorRules> operator_rules;  // null: none
};

// malformed names every problem of the files with log rules.
[[nodiscard]] Result<MachineChecks> checks_of(const MachineChoice& choice, const config::Config& config);

// The log rules in these files. malformed lists every problem, with file and line.
[[nodiscard]] Result<std::vector<catalog::LogRule>> read_log_rules(const std::vector<std::string>& files);

}  // namespace autopilot::cli
