// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::kube {

// The files that kubectl would read, in its order. variable: KUBECONFIG, files with ':' between them; where
// it is empty, .kube/config below `home`. Empty without either.
[[nodiscard]] std::vector<std::string> kubeconfig_paths(std::string_view variable, std::string_view home);

// One context of these files; empty: the current one. As with kubectl, what stands in several of them counts
// where it stands first, a file that does not exist is passed over, and relative paths begin at the folder of
// the file that names them. Keys that nobody needs here are passed over, and so is what is wrong with other
// contexts. Files of certificates, keys and tokens are read as well.
// not_found: none of the files exists. malformed: "file:line: what", one per line, with the cure and without
// any token or key; so is what would need more than we can: a proxy, passwords, acting as somebody else, a
// plugin that must ask a person.
[[nodiscard]] Result<Access> read_kubeconfig(const std::vector<std::string>& paths,
                                             const std::string& context, const ReadFile& read_file);

}  // namespace autopilot::kube
