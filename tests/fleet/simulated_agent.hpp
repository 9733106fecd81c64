// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.hpp"
#include "agent/cluster_link.hpp"
#include "config/config.hpp"
#include "core/log_parts.hpp"
#include "core/result.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "fleet/http_door.hpp"
#include "kube/credentials.hpp"
#include "net/event_loop.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::fleet {

// The parts of an agent that its cluster sees: the checks of one machine, its state, and its writes. Without
// journal and operations, so that it knows of an earlier agent only the content of the Node object. Several
// agents can check one machine, each as another node. On the loop's thread.
class SimulatedAgent {
 public:
  // The machine must be simulated: whether it may be written is asked before (agent::may_be_written).
  SimulatedAgent(net::EventLoop& loop, agent::Machine machine, const config::Config& config,
                 const kube::ClusterDoor& door, Duration heartbeat);
  SimulatedAgent(const SimulatedAgent&) = delete;
  SimulatedAgent& operator=(const SimulatedAgent&) = delete;
  ~SimulatedAgent() = default;

  // Answers at this address as well; see HttpDoor.
  [[nodiscard]] Status listen(const std::string& address, const config::Config& config);
  void start();
  void kernel_log_grew(LogParts parts);
  void stop() { runtime_.stop(); }
  [[nodiscard]] bool has_looked_once() const { return runtime_.has_run_once(); }
  [[nodiscard]] const agent::Machine& machine() const { return machine_; }
  [[nodiscard]] ClusterStatus status() const { return cluster_->status(); }

 private:
  runtime::Outlets outlets();
  agent::ClusterSources sources();
  void poll();
  void poll_soon();

  net::EventLoop& loop_;
  const agent::Machine machine_;
  diagnostics::PassBook passes_;
  std::unique_ptr<agent::ClusterLink> cluster_;  // always, once this is made: it needs what needs it
  std::atomic<bool> poll_posted_{false};
  net::Subscription next_poll_;
  runtime::Runtime runtime_;  // its workers end before what they wake
  std::optional<HttpDoor> door_;
};

}  // namespace autopilot::fleet
