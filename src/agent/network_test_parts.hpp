// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/cluster_link.hpp"
#include "config/config.hpp"
#include "nettest/run/network_tests.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// Parts of an agent that its network tests use. They outlive the tests.
struct NetworkTestParts {
  net::EventLoop& loop;
  const Clock& clock;
  const host::Files& files;  // of the machine whose network it is
  bool is_simulated;         // see NetworkTestContext
  runtime::Runtime& runtime;
  std::string node;
  std::string pod;  // of this agent; empty: it is in none
  std::shared_ptr<host::TestBoard> board;
  std::function<const config::Config&()> config;
  std::function<const ClusterLink*()> cluster;  // null: none, or not yet
  std::function<bool()> has_peers;              // there may be other agents
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
  std::function<std::shared_ptr<const net::TlsContext>()> tls;
  kube::CallerRights rights;  // of agents
  std::function<void()> poll_soon;
};
[[nodiscard]] nettest::NetworkTestContext network_test_context(const NetworkTestParts& parts);

}  // namespace autopilot::agent
