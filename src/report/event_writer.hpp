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

// Writes core/v1 Events about the Node object, in the namespace `default`. Events that cannot be written yet
// wait; the newest kMaxWaiting are kept. On the event loop's thread.
class EventWriter {
 public:
  static constexpr std::size_t kMaxWaiting = 64;

  // node: name of the Node object, and of the reporting instance.
  EventWriter(kube::Client& client, kube::ClusterWriter& writer, const Clock& clock, std::string node);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter() = default;

  // Takes the Node object; no event is written before the first call.
  void see(const kube::Node& node);
  // Writes the events that is_told() (event_words.hpp) selects.
  void note(const std::vector<Event>& events, const NodeSnapshot& snapshot);
  // Writes an event about the node; its object is replaced by the Node object.
  void tell(kube::EventFact fact);
  // Number of events that were never written: too many waited, or the limit of this node was reached.
  [[nodiscard]] std::uint64_t dropped() const { return queue_.dropped(); }

 private:
  // Last written state of an incident; an event with the same state is not written again.
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
