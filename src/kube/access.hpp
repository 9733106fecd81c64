// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "net/url.hpp"

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

// Access of a pod, with its service account. host, port: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT,
// empty if not set. not_found: not in a pod of a cluster. denied: the pod has no token.
[[nodiscard]] Result<Access> in_cluster_access(const std::string& host, const std::string& port,
                                               const ReadFile& read_file);

// Validates credentials before they are used. Errors contain no part of them.

// Without surrounding white space. malformed: empty, or with characters that an HTTP header does not allow.
[[nodiscard]] Result<std::string> parse_bearer_token(std::string_view text);
// malformed: not PEM with at least one certificate. TLS verifies the certificates later.
[[nodiscard]] Status check_certificates(std::string_view pem);
// malformed: not PEM with a private key, or the key has a password.
[[nodiscard]] Status check_key(std::string_view pem);

// The same for a file; every error names its path.
[[nodiscard]] Result<std::string> read_bearer_token(const std::string& path, const ReadFile& read_file);
[[nodiscard]] Result<std::string> read_pem(const std::string& path, Status (*check)(std::string_view),
                                           const ReadFile& read_file);

}  // namespace autopilot::kube
