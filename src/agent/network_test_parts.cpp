// SPDX-License-Identifier: Apache-2.0
#include "agent/network_test_parts.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "diagnostics/schedule/idle_now.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "runtime/fresh_look.hpp"

namespace autopilot::agent {
namespace {

// From the label of the node, or from the configuration if the node has no such label.
std::string leaf_of(const config::Network& network, const kube::Node* node) {
  if (node == nullptr) return network.leaf;
  const auto label = node->meta.labels.find(network.leaf_label);
  return label == node->meta.labels.end() ? network.leaf : label->second;
}

// Runs of gpu.processes that begin soon.
struct Waiting {
  std::uint64_t last = 0;
  std::map<std::uint64_t, net::Subscription> looks;
};

std::string job_in(const NodeSnapshot& snapshot, const ClusterLink* cluster,
                   const nettest::NetworkTestContext::OwnProcesses& own) {
  diagnostics::GpuSight sight{.gpus = {}, .look = diagnostics::look_at_processes(snapshot), .holder = {}};
  sight.own_processes = [&sight, &own](const Subject& gpu) {
    return own(gpu.key, sight.look->completed - sight.look->duration);
  };
  if (cluster != nullptr) sight.holder = cluster->gpu_holder();
  return diagnostics::known_holder(sight);
}

// Why a GPU of this machine may not be taken now, in a sentence; empty: it may.
std::string why_busy(const CheckResult& look, const ClusterLink* cluster, const std::string& gpu) {
  const std::vector<Subject> gpus{nettest::subject_of(SubjectKind::gpu, gpu)};
  if (look.observations.empty() && !look.findings.empty())
    return "the users of " + to_string(gpus.front()) + " are not known: " + look.findings.front().message;
  diagnostics::GpuSight sight{.gpus = gpus, .look = &look, .holder = {}};
  if (cluster != nullptr) sight.holder = cluster->gpu_holder();
  return diagnostics::idle_gpus(sight).busy;
}

nettest::PingSettings ping_settings(const config::Ping& ping, bool has_peers) {
  return {.every = has_peers ? ping.every : Duration{0},
          .asks_all = ping.full_mesh,
          .echoes = static_cast<unsigned>(ping.echoes)};
}

}  // namespace

nettest::NetworkTestContext network_test_context(const NetworkTestParts& parts) {
  nettest::NetworkTestContext context{.loop = parts.loop, .clock = parts.clock, .files = parts.files};
  context.node = parts.node;
  context.pod = parts.pod;
  context.is_simulated = parts.is_simulated;
  context.interfaces = parts.config().network.interfaces;
  context.leaf = [config = parts.config, cluster = parts.cluster] {
    const ClusterLink* link = cluster();
    return leaf_of(config().network, link == nullptr ? nullptr : link->own_node());
  };
  context.ping = [config = parts.config, has_peers = parts.has_peers] {
    return ping_settings(config().ping, has_peers());
  };
  context.pairs = [config = parts.config] {
    return nettest::PairChoice{config().network.most_percent, config().network.all_pairs};
  };
  context.peers = parts.peers;
  context.tls = parts.tls;
  context.rights = parts.rights;
  context.is_open = parts.config().compat.open_actions;
  context.job = [&runtime = parts.runtime, cluster = parts.cluster](const auto& own) {
    return job_in(*runtime.snapshot(), cluster(), own);
  };
  const auto look_now = [&runtime = parts.runtime, &clock = parts.clock, poll_soon = parts.poll_soon,
                         cluster = parts.cluster](const std::string& gpu, const auto& done) {
    const bool is_looking = runtime::look_afresh(
        runtime, clock, diagnostics::kProcesses, poll_soon,
        [cluster, gpu, done](const CheckResult& look) { done(why_busy(look, cluster(), gpu)); });
    if (!is_looking) done("the users of the GPUs are not known: the check gpu.processes is disabled");
  };
  context.look_at_gpu = [&loop = parts.loop, look_now, waiting = std::make_shared<Waiting>()](
                            const std::string& gpu, const auto& done) {
    // HelperGpus repeats an answer that is younger than kShared; the run must not get it.
    const std::uint64_t number = ++waiting->last;
    waiting->looks[number] =
        loop.after(host::HelperGpus::kShared, [look_now, gpu, done, number, &waiting = *waiting] {
          const net::Subscription over = std::move(waiting.looks.extract(number).mapped());
          look_now(gpu, done);
        });
  };
  context.look = [&runtime = parts.runtime, poll_soon = parts.poll_soon](const std::string& check) {
    if (runtime.run_now(check, [](const CheckResult&) {})) poll_soon();
  };
  context.board = parts.board;
  return context;
}

}  // namespace autopilot::agent
