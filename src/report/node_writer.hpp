// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/cluster_writer.hpp"
#include "kube/objects.hpp"
#include "kube/watch.hpp"
#include "net/event_loop.hpp"
#include "report/node_words.hpp"

namespace autopilot::report {

struct NodeWriterOptions {
  std::string node;                          // name of the Node object
  std::string prefix = "autopilot.ibm.com";  // of labels and annotations
  std::string instance;                      // of this agent; an agent that starts later has a greater value
  Duration heartbeat = std::chrono::minutes{5};  // longest time between two writes
};

// Keeps label, annotations and conditions of the own Node object up to date, even if another client changes
// them: watches the object and writes each difference, verdict and health at once, changes of text alone
// later (WriteUrgency). Writes nothing before it has seen the object. On the event loop's thread. If two
// agents run for one node, the agent that started later writes, and the other agent writes nothing to the
// cluster while that agent is alive.
//   <prefix>/gpuhealth   label: PASS, WARN, EVICT, TESTING; missing without a verdict
//   <prefix>/summary     annotation
//   <prefix>/dcgm.level.<r>         label: PASS_<time>, ERR_<time>, result of the last deep diagnostic
//   <prefix>/dcgm.level.<r>.output  annotation: its failures
//   <prefix>/checked-at  annotation: RFC 3339; older than three heartbeats: no agent runs for this node
//   <prefix>/checked-by  annotation: the last agent that wrote
//   GpuHealthy, NetworkHealthy, StorageHealthy, HostHealthy: conditions
class NodeWriter {
 public:
  // random: in [0, 1), for the jitter of pauses. on_node: each time the object was seen.
  NodeWriter(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer, const Clock& clock,
             NodeWriterOptions options, std::function<double()> random,
             std::function<void(const kube::Node&)> on_node);
  NodeWriter(const NodeWriter&) = delete;
  NodeWriter& operator=(const NodeWriter&) = delete;
  ~NodeWriter() = default;

  void start();
  // Sets the content to write from now on.
  void note(NodeWords words);
  // Why the object cannot be read or written; empty: no failure is known.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void see(kube::Node node);
  void listen(const kube::Node& node);
  void hear();
  // Summary and messages are details: a difference in details alone is written later.
  enum class Depth : std::uint8_t { words, details };
  void compare(Depth depth);
  void compare_texts(const kube::Node& node, const NodeWords& words);
  [[nodiscard]] kube::ClusterWriter::Source source(
      std::function<net::Exchange(kube::OnObject on_answer)> send);
  void say(const std::string& problem);
  [[nodiscard]] bool must_yield(const kube::Node& node) const;
  [[nodiscard]] bool has_old_heartbeat(const kube::Node& node) const;
  [[nodiscard]] bool has_labels(const kube::Node& node, const NodeWords& words) const;
  [[nodiscard]] std::string label_patch(const NodeWords& words) const;
  [[nodiscard]] std::string conditions_patch(const kube::Node& node, const NodeWords& words) const;

  net::EventLoop& loop_;
  kube::Client& client_;
  kube::ClusterWriter& writer_;
  const Clock& clock_;
  const NodeWriterOptions options_;
  const std::function<void(const kube::Node&)> on_node_;
  // Another agent that wrote the object while this agent runs.
  struct Heard {
    std::string from;
    MonoTime at{};
  };
  std::optional<Heard> heard_;
  std::optional<std::string> first_mark_;  // last writer and its time in the first version of the object
  std::string last_mark_;
  std::string problem_;
  std::optional<NodeWords> words_;
  std::optional<kube::Node> node_;  // last seen version; not set: the object does not exist
  net::Subscription heartbeat_;
  kube::Watch watch_;  // last: it calls
};

}  // namespace autopilot::report
