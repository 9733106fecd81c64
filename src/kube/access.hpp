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

// The whole of a file; symbolic links are followed. Errors name the path; not_found: there is no such file.
// Has a limit of its own, may block, and is called on the threads of those that it is given to.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// A program that gives credentials (client.authentication.k8s.io/v1 or v1beta1).
struct ExecPlugin {
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // beside that of this process
  std::string api_version;
  bool wants_cluster = false;  // provideClusterInfo: it is told which cluster it is asked for
};

// Where an API server is, how it is known, and who asks: one context of a kubeconfig, or the service account
// of a pod.
struct Access {
  net::ServerUrl server;
  std::string authorities;  // PEM; empty: those of the system
  std::string server_name;  // that the server's certificate must bear; empty: that of the URL
  bool trusts_any_server = false;
  std::string name_space;  // where things are looked for when nothing else is said

  // How it shows who it is: all that are set.
  std::string certificate;  // PEM
  std::string key;          // PEM
  std::string token;
  std::string token_file;  // read again and again: its content changes; wins over token
  std::optional<ExecPlugin> exec;

  // Where these came from, to be read again: their content changes. Empty: they stood in the configuration.
  std::string authorities_file;
  std::string certificate_file;
  std::string key_file;
};

}  // namespace autopilot::kube
