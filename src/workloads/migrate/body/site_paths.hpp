// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/migrate/body/shell.hpp"
#include "workloads/migrate/script/findings.hpp"

namespace autopilot::workloads::migrate {

// Directories of the old cluster that the commands name and that no claim in `mounted` provides.
void lint_site_paths(const ShellScript& script, const std::vector<std::string>& mounted, Findings& findings);

// The directory of the old cluster that a path is below: "/nobackup" of "/nobackup/users/x"; empty: none,
// such as /usr and /tmp.
[[nodiscard]] std::string site_root(std::string_view path);

}  // namespace autopilot::workloads::migrate
