// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/kubelet/pod_resources.hpp"

namespace autopilot::host {

// `autopilot helper kubelet [--root DIR] [--listen PATH [--allow-uid UID]...]`: queries the kubelet of this
// machine, or its replacement in the tree at DIR, and opens its logs of pods (pod_logs.hpp), for the agent at
// the other end of `fd`; with --listen, for agents without the permission. Returns the exit code of the
// process.
[[nodiscard]] int run_kubelet_helper(int fd, const std::vector<std::string>& arguments);

// Queries the kubelet through a helper, because the kubelet may hang or send malformed gRPC. The helper is a
// child process, started only if the kubelet's socket exists, or a helper with more permissions behind a
// socket, with one connection per request.
class HelperKubelet final : public Kubelet {
 public:
  static constexpr std::string_view kFolder = "/var/lib/kubelet/pod-resources";
  static constexpr std::string_view kSocket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // Time limit of one request, within the deadline of the caller.
  static constexpr Duration kPatience = std::chrono::seconds{3};

  // `socket`: path on which a separate helper listens; empty: `helper` is started. `clock`: the clock of the
  // machine, in which callers give their deadlines. Clock and files outlive the object.
  HelperKubelet(Command helper, const Clock& clock, const Files& files, std::string socket = {});

  [[nodiscard]] Result<PodResources> pod_resources(MonoTime deadline) const override;
  [[nodiscard]] HelperStats stats() const { return helper_.stats(); }
  // Why the last request to an existing kubelet failed; empty if it did not, or if there is no kubelet.
  [[nodiscard]] std::string problem() const;

 private:
  [[nodiscard]] Result<PodResources> ask(MonoTime deadline) const;
  [[nodiscard]] Result<std::string> ask_child(MonoTime deadline) const;
  [[nodiscard]] Result<std::string> ask_at_socket(MonoTime deadline) const;

  const std::string socket_;
  const Clock& clock_;
  const Files& files_;
  mutable HelperClient helper_;
  mutable std::mutex mutex_;
  mutable std::string problem_;  // guarded by mutex_
};

}  // namespace autopilot::host
