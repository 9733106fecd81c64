// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/files/files.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/kubelet/kubelet.hpp"

namespace autopilot::host {

// `autopilot helper kubelet [--root DIR]`: asks the kubelet of this machine, or what listens in its place in
// the tree at DIR, for the agent. Gives the exit code of the process.
[[nodiscard]] int run_kubelet_helper(int fd, const std::vector<std::string>& arguments);

// Asks the kubelet in a helper process: it answers over a protocol with many ways to be wrong, and may hang.
// Where no socket is, no process is started.
class HelperKubelet final : public Kubelet {
 public:
  static constexpr std::string_view kFolder = "/var/lib/kubelet/pod-resources";
  static constexpr std::string_view kSocket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // What one answer may take, within the deadline of the caller.
  static constexpr Duration kPatience = std::chrono::seconds{3};

  // `clock` is that of the machine, in which callers give their deadlines. All outlive the object.
  HelperKubelet(Command helper, const Clock& clock, const Files& files);

  [[nodiscard]] Result<PodResources> pod_resources(MonoTime deadline) const override;
  [[nodiscard]] HelperStats stats() const { return helper_.stats(); }
  // Why the kubelet that is there could not be asked when last tried; empty: it could, or there is none.
  [[nodiscard]] std::string problem() const;

 private:
  [[nodiscard]] Result<PodResources> ask(MonoTime deadline) const;

  const Clock& clock_;
  const Files& files_;
  mutable HelperClient helper_;
  mutable std::mutex mutex_;
  mutable std::string problem_;  // guarded by mutex_
};

}  // namespace autopilot::host
