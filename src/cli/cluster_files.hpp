// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::cli {

// A file of credentials or a kubeconfig, at most 4 MiB: kube::ReadFile.
[[nodiscard]] Result<std::string> read_cluster_file(const std::string& path);
// What is wrong where other users of the machine can read a private key, with the cure; empty where they
// cannot, where there is no file yet, and in a pod, whose mounts are its own. key: a path; empty: none.
[[nodiscard]] std::string open_key_problem(const std::string& key,
                                           const std::map<std::string, std::string>& variables);
// A plugin that gives credentials, for at most 30 s: kube::RunPlugin.
[[nodiscard]] Result<std::string> run_credential_plugin(const kube::ExecPlugin& plugin,
                                                        const std::string& exec_info);

}  // namespace autopilot::cli
