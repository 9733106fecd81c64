// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/exporters/node_words.hpp"
#include "agent/exporters/write_order.hpp"
#include "core/clock.hpp"
#include "kube/back_off.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"
#include "kube/watch.hpp"
#include "net/event_loop.hpp"

namespace autopilot::agent {

struct NodeWriterOptions {
  std::string node;                              // name of the Node object
  std::string prefix = "autopilot.ibm.com";      // of labels and annotations
  Duration heartbeat = std::chrono::minutes{5};  // what stands there is written again so often
};

struct NodeWriterStats {
  std::uint64_t writes = 0;    // answered with success
  std::uint64_t failures = 0;  // answered otherwise, or not at all
  std::string problem;         // of the last one that failed; empty after a success
};

// Keeps label, annotations and conditions of the own Node object as they should be, whoever changes them:
// what stands there is watched, and what differs is written, at most as WriteOrder allows. Writes nothing
// before it has seen the object. On the loop's thread.
//   <prefix>/gpuhealth   label: PASS, WARN, EVICT, TESTING; none where there is nothing to say
//   <prefix>/summary     annotation
//   <prefix>/checked-at  annotation: RFC 3339; older than three heartbeats: nobody watches this node
//   GpuHealthy, NetworkHealthy, StorageHealthy, HostHealthy: conditions
class NodeWriter {
 public:
  // random: in [0, 1), for the jitter of pauses. on_node: each time the object was seen.
  NodeWriter(net::EventLoop& loop, kube::Client& client, const Clock& clock, NodeWriterOptions options,
             std::function<double()> random, std::function<void(const kube::Node&)> on_node);
  NodeWriter(const NodeWriter&) = delete;
  NodeWriter& operator=(const NodeWriter&) = delete;
  ~NodeWriter() = default;

  void start();
  // What should stand there from now on.
  void note(NodeWords words);
  [[nodiscard]] const NodeWriterStats& stats() const { return stats_; }

 private:
  void see(kube::Node node);
  void compare();
  void pump();
  void take_answer(WriteKind kind, const kube::ApiResult<std::string>& answer);
  void say(std::string_view what, const std::string& problem);
  [[nodiscard]] bool has_old_heartbeat(const kube::Node& node) const;
  [[nodiscard]] std::string label_patch(const NodeWords& words) const;
  [[nodiscard]] std::string conditions_patch(const kube::Node& node, const NodeWords& words) const;

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const NodeWriterOptions options_;
  const std::function<double()> random_;
  const std::function<void(const kube::Node&)> on_node_;
  NodeWriterStats stats_;
  std::optional<NodeWords> words_;
  std::optional<kube::Node> node_;  // as it was seen last; nothing while there is none
  WriteOrder order_;
  kube::BackOff back_off_;
  net::Subscription next_;
  net::Subscription heartbeat_;
  net::Exchange exchange_;  // the write that is under way
  kube::Watch watch_;       // last: it calls
};

}  // namespace autopilot::agent
