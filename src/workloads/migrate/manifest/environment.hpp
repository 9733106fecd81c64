// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workloads/migrate/manifest/plan.hpp"

namespace autopilot::workloads::migrate {

// The shell script that runs before the job's own: variables of the old scheduler, files with the names of
// hosts, and the wait for workers. For sh of POSIX.
[[nodiscard]] std::string environment_text(const Plan& plan);

// Programs that replace programs of the scheduler, as names and texts: srun, scontrol, module, whoami.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> stand_in_programs(const Plan& plan);

// 'text' for a shell.
[[nodiscard]] std::string shell_quoted(std::string_view text);

}  // namespace autopilot::workloads::migrate
