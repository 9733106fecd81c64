// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/watch.hpp"
#include "net/event_loop.hpp"

namespace autopilot::cli {

// The cluster, with the names of kubectl's options.
struct ClusterOptions {
  std::string kubeconfig;  // empty: the files of KUBECONFIG, else ~/.kube/config
  std::string context;     // empty: the current one
  Duration request_timeout = std::chrono::seconds{15};
};
void add_cluster_options(CLI::App& verb, ClusterOptions& options);

// The installation of Autopilot in the cluster.
struct InstallationOptions {
  std::string name_space = "autopilot";            // namespace of the reports
  std::string label_prefix = "autopilot.ibm.com";  // prefix of labels and annotations
};
void add_namespace_option(CLI::App& verb, std::string& name_space);
// --namespace and --label-prefix.
void add_installation_options(CLI::App& verb, InstallationOptions& options);

// True if the text is valid as an object name in a request path.
[[nodiscard]] bool is_object_name(std::string_view text);
// Argument NODE of a verb; a name that no node can have is a usage error.
CLI::Option* add_node_argument(CLI::App& verb, std::string& node, const std::string& description);

// Describes a request to the API server, for its error text.
struct Asked {
  std::string right;           // "list nodes"
  std::string when_not_there;  // remedy for not found; empty: no remedy
};

// The error with its remedy. Pure.
[[nodiscard]] Error problem_of(const kube::ApiError& error, const Asked& asked);

// Reads objects of a cluster. Each call blocks until its answer arrives. Errors name the remedy.
class ClusterReader {
 public:
  static constexpr std::size_t kMostObjects = 20'000;  // of one list; more: exhausted

  using Take = std::function<void(const kube::JsonObject& object)>;

  // Reads the kubeconfig and runs its credential plugin, if any. malformed: the kubeconfig is missing or not
  // valid.
  [[nodiscard]] static Result<std::unique_ptr<ClusterReader>> open(const ClusterOptions& options);
  ClusterReader(const net::ServerUrl& server, kube::ClientOptions options);

  // Calls `take` for each object of a list, in pages of at most `page` objects.
  [[nodiscard]] Status list(const kube::ApiPath& path, std::size_t page, const Asked& asked,
                            const Take& take);
  // Calls `take` for one object. False: no object has that name.
  [[nodiscard]] Result<bool> find(const std::string& path, const Asked& asked, const Take& take);

 private:
  [[nodiscard]] kube::ApiResult<std::string> get(kube::ApiPath path);

  net::EventLoop loop_;
  kube::Client client_;
};

}  // namespace autopilot::cli
