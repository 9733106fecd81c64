// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "net/server_url.hpp"

namespace autopilot::kube {

// Returns the content of a file; follows symbolic links. Errors name the path; not_found: the file is
// missing. It limits the size, can block, and is called on the threads of its users.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// An exec plugin, a program that prints credentials (client.authentication.k8s.io/v1 or v1beta1).
struct ExecPlugin {
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // added to the environment of this process
  std::string api_version;
  bool wants_cluster = false;  // provideClusterInfo: the plugin receives the cluster
};

// How to reach an API server and authenticate: one context of a kubeconfig, or the service account of a pod.
struct Access {
  net::ServerUrl server;
  std::string authorities;  // PEM; empty: the system's
  std::string server_name;  // name that the server's certificate must have; empty: the host of the URL
  bool trusts_any_server = false;
  std::string name_space;  // default namespace

  // Credentials of the client; all that are set are used.
  std::string certificate;  // PEM
  std::string key;          // PEM
  std::string token;
  std::string token_file;  // read repeatedly, because its content changes; takes precedence over token
  std::optional<ExecPlugin> exec;

  // Source files of the fields above, read again because their content changes. Empty: the configuration has
  // the content itself.
  std::string authorities_file;
  std::string certificate_file;
  std::string key_file;
};

}  // namespace autopilot::kube
