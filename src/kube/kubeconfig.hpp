// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::kube {

// The files that kubectl reads, in its order. variable: KUBECONFIG, files separated by ':'; if it is empty,
// .kube/config in `home`. Empty without either.
[[nodiscard]] std::vector<std::string> kubeconfig_paths(std::string_view variable, std::string_view home);

// One context of these files; empty: the current one. As with kubectl, the first file that has a key takes
// precedence, missing files are skipped, and relative paths start at the folder of their file. Keys that are
// not needed and errors in other contexts are ignored. Reads the files of certificates, keys and tokens as
// well. not_found: none of the files exists. malformed: "file:line: what", one per line, with a remedy and
// without any token or key. Unsupported features are malformed as well: a proxy, passwords, impersonation, a
// plugin that needs a terminal.
[[nodiscard]] Result<Access> read_kubeconfig(const std::vector<std::string>& paths,
                                             const std::string& context, const ReadFile& read_file);

}  // namespace autopilot::kube
