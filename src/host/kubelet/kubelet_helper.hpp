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

// `autopilot helper kubelet [--root DIR] [--listen PATH [--allow-uid UID]...]`: asks the kubelet of this
// machine, or what listens in its place in the tree at DIR, for the agent at the other end of `fd`; with
// --listen for agents that may not ask it themselves. Gives the exit code of the process.
[[nodiscard]] int run_kubelet_helper(int fd, const std::vector<std::string>& arguments);

// Asks the kubelet in a helper process: it answers over a protocol with many ways to be wrong, and may hang.
// Where no socket is, no process is started. Or asks a helper with rights that this process has not, which is
// met at a socket for one question at a time.
class HelperKubelet final : public Kubelet {
 public:
  static constexpr std::string_view kFolder = "/var/lib/kubelet/pod-resources";
  static constexpr std::string_view kSocket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // What one answer may take, within the deadline of the caller.
  static constexpr Duration kPatience = std::chrono::seconds{3};

  // `socket`: where the other helper listens; empty: `helper` is started. `clock` is that of the machine, in
  // which callers give their deadlines. Clock and files outlive the object.
  HelperKubelet(Command helper, const Clock& clock, const Files& files, std::string socket = {});

  [[nodiscard]] Result<PodResources> pod_resources(MonoTime deadline) const override;
  [[nodiscard]] HelperStats stats() const { return helper_.stats(); }
  // Why the kubelet that is there could not be asked when last tried; empty: it could, or there is none.
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
