// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "controller/planner/world.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/stored_texts.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

inline constexpr const char* kHeldNodesName = "autopilot-held-nodes";

// Of each node that is held, by its name: since when, by which plan and why, in one line. Of more than `most`
// the first by name, and under "_more" how many others there are. Pure.
[[nodiscard]] kube::Texts held_nodes(const World& world, std::size_t most = 1000);

// Keeps that list in the ConfigMap autopilot-held-nodes, which the chart makes and `helm uninstall` leaves
// and names: what is cordoned outlives the controller. Where there is no such ConfigMap nothing is written.
// Why it cannot be written is logged once for each cause in a row. On the loop's thread.
class HeldNodes {
 public:
  static constexpr Duration kAfterFailure = std::chrono::minutes{1};

  HeldNodes(net::EventLoop& loop, kube::Client& client, const std::string& name_space,
            std::function<bool()> is_leader, Duration after_failure = kAfterFailure);
  HeldNodes(const HeldNodes&) = delete;
  HeldNodes& operator=(const HeldNodes&) = delete;
  ~HeldNodes() = default;

  // To be called again and again: writes what differs from what was last seen there.
  void show(kube::Texts held);

 private:
  void look();
  void take(const kube::ApiResult<std::string>& answer);
  void take_written(const kube::ApiResult<std::string>& answer);
  void look_later(const Error& why);

  net::EventLoop& loop_;
  kube::Client& client_;
  const std::string path_;
  const std::function<bool()> is_leader_;
  const Duration after_failure_;
  kube::Texts wanted_;
  std::optional<kube::Texts> shown_;  // nothing: not seen yet
  std::string problem_;               // why it could not be written, as last said
  net::Exchange exchange_;
  net::Subscription again_;
};

}  // namespace autopilot::controller
