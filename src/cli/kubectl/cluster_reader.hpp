// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "cli/kubectl/api_problem.hpp"
#include "cli/kubectl/cluster_options.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"
#include "net/event_loop.hpp"

namespace autopilot::cli {

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
