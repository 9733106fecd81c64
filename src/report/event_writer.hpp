// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/snapshot.hpp"
#include "kube/caches.hpp"
#include "kube/client.hpp"
#include "kube/cluster_writer.hpp"
#include "kube/events.hpp"
#include "kube/objects.hpp"

namespace autopilot::report {

// Tells those who look at the Node object what happened: writes core/v1 Events about it, in `default`. Those
// that the cluster cannot take yet wait, the newest kMaxWaiting of them. On the loop's thread.
class EventWriter {
 public:
  static constexpr std::size_t kMaxWaiting = 64;

  // node: the name of the Node object, and of the one who tells.
  EventWriter(kube::Client& client, kube::ClusterWriter& writer, const Clock& clock, std::string node);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter() = default;

  // Nothing is written before it is known which object it is about.
  void see(const kube::Node& node);
  // Those that is_told() (event_words.hpp) picks.
  void note(const std::vector<Event>& events, const NodeSnapshot& snapshot);
  // About the node, whatever its object is left as.
  void tell(kube::EventFact fact);
  // Events that were never written: too many waited, or too many were told of this node.
  [[nodiscard]] std::uint64_t dropped() const { return queue_.dropped(); }

 private:
  // What was told of an incident last: what does not differ in this is no news.
  struct Told {
    Health health = Health::unknown;
    std::string action;
    friend bool operator==(const Told&, const Told&) = default;
  };

  [[nodiscard]] bool is_news(const Event& event);
  [[nodiscard]] std::optional<net::Exchange> send(kube::OnObject on_answer);
  void go_on();

  kube::Client& client_;
  kube::ClusterWriter& writer_;
  const Clock& clock_;
  const std::string node_;
  std::string uid_;  // of the Node object
  kube::EventQueue queue_;
  kube::RecentMap<Told> told_;
};

}  // namespace autopilot::report
