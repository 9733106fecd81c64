// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "cli/kubectl/api_problem.hpp"
#include "cli/kubectl/cluster_options.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/list_page.hpp"
#include "net/event_loop.hpp"

namespace autopilot::cli {

// Reads objects of a cluster, one question after the other: each call waits for its answer. Errors name the
// cure.
class ClusterReader {
 public:
  static constexpr std::size_t kMostObjects = 20'000;  // of one list; exhausted beyond

  using Take = std::function<void(const kube::JsonObject& object)>;

  // Reads the kubeconfig, and runs its plugin where it has one. malformed: what is wrong with them.
  [[nodiscard]] static Result<std::unique_ptr<ClusterReader>> open(const ClusterOptions& options);
  ClusterReader(const net::ServerUrl& server, kube::ClientOptions options);

  // Each object of a list, in pages of at most `page` objects.
  [[nodiscard]] Status list(const kube::ApiPath& path, std::size_t page, const Asked& asked,
                            const Take& take);
  // One object. False: there is none of that name.
  [[nodiscard]] Result<bool> find(const std::string& path, const Asked& asked, const Take& take);

 private:
  [[nodiscard]] kube::ApiResult<std::string> get(kube::ApiPath path);

  net::EventLoop loop_;
  kube::Client client_;
};

}  // namespace autopilot::cli
