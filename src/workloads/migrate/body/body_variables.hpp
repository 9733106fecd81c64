// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/migrate/body/shell.hpp"
#include "workloads/migrate/script/findings.hpp"

namespace autopilot::workloads::migrate {

// Variables that are set and not read, and variables of kill and wait that are not set.
void lint_variables(const ShellScript& script, Findings& findings);

}  // namespace autopilot::workloads::migrate
