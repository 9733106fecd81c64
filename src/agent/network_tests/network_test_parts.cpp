// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/network_test_parts.hpp"

#include <algorithm>

#include "agent/scheduled_tests/idle_now.hpp"

namespace autopilot::agent {
namespace {

// The label of the node where somebody keeps one, else what the configuration says.
std::string leaf_of(const config::Network& network, const kube::Node* node) {
  if (node == nullptr) return network.leaf;
  const auto label = node->meta.labels.find(network.leaf_label);
  return label == node->meta.labels.end() ? network.leaf : label->second;
}

std::string job_in(const NodeSnapshot& snapshot, const ClusterLink* cluster, WallTime own_until) {
  const auto look = std::ranges::find(snapshot.results, "gpu.processes", &CheckResult::check);
  GpuSight sight{.gpus = {}, .look = look == snapshot.results.end() ? nullptr : &*look, .holder = {}};
  if (sight.look != nullptr && sight.look->completed - sight.look->duration <= own_until)
    sight.own_processes = 1;
  if (cluster != nullptr) sight.holder = cluster->gpu_holder();
  return known_holder(sight);
}

PingSettings ping_settings(const config::Ping& ping, bool has_peers) {
  return {.every = has_peers ? ping.every : Duration{0},
          .asks_all = ping.full_mesh,
          .echoes = static_cast<unsigned>(ping.echoes)};
}

}  // namespace

NetworkTestContext network_test_context(const NetworkTestParts& parts) {
  NetworkTestContext context{.loop = parts.loop, .clock = parts.clock, .files = parts.files};
  context.node = parts.node;
  context.pod = parts.pod;
  context.interfaces = parts.config().network.interfaces;
  context.leaf = [config = parts.config, cluster = parts.cluster] {
    const ClusterLink* link = cluster();
    return leaf_of(config().network, link == nullptr ? nullptr : link->own_node());
  };
  context.ping = [config = parts.config, has_peers = parts.has_peers] {
    return ping_settings(config().ping, has_peers());
  };
  context.most_percent = [config = parts.config] { return config().network.most_percent; };
  context.peers = parts.peers;
  context.tls = parts.tls;
  context.rights = parts.rights;
  context.is_open = parts.config().compat.open_actions;
  context.job = [&runtime = parts.runtime, cluster = parts.cluster](WallTime own_until) {
    return job_in(*runtime.snapshot(), cluster(), own_until);
  };
  context.look = [&runtime = parts.runtime, poll_soon = parts.poll_soon](const std::string& check) {
    if (runtime.run_now(check, [](const CheckResult&) {})) poll_soon();
  };
  context.board = parts.board;
  return context;
}

}  // namespace autopilot::agent
