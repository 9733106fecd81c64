// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::cli {

// A file of credentials or a kubeconfig, at most 4 MiB: kube::ReadFile.
[[nodiscard]] Result<std::string> read_cluster_file(const std::string& path);
// A plugin that gives credentials, for at most 30 s: kube::RunPlugin.
[[nodiscard]] Result<std::string> run_credential_plugin(const kube::ExecPlugin& plugin,
                                                        const std::string& exec_info);

}  // namespace autopilot::cli
