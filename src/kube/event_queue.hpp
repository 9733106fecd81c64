// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/event_recorder.hpp"

namespace autopilot::kube {

// Facts that wait to become Events, at most the newest `most`. One is in progress at a time, until the server
// accepts it or rejects it for good. On one thread.
class EventQueue {
 public:
  explicit EventQueue(std::size_t most, const EventLimits& limits = {}) : most_(most), recorder_(limits) {}

  void note(const EventFact& fact, const Instant& now);
  // The next write, the same until written() or refused(); null: none waits.
  [[nodiscard]] EventWrite* next();
  // The server has stored it.
  void written() { under_way_.reset(); }
  // The server's outcome: retries the write in another form if possible, otherwise drops it.
  void refused(ApiOutcome outcome);
  // Drops the write in progress.
  void drop();

  [[nodiscard]] bool has_next() const { return under_way_ || !waiting_.empty(); }
  // Events that were dropped: too many waited, their object exceeded its rate, or the server refused them.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_ + recorder_.dropped(); }

 private:
  std::size_t most_;
  EventRecorder recorder_;
  std::deque<EventWrite> waiting_;
  std::optional<EventWrite> under_way_;
  std::uint64_t dropped_ = 0;
};

// The reporting component: "autopilot-agent" on a host.
struct EventSource {
  std::string component;
  std::string host;
};

// Body of the request that creates the Event, or of the patch that updates it.
[[nodiscard]] std::string event_json(const EventWrite& write, const EventSource& source);
[[nodiscard]] net::Exchange send_event(Client& client, const EventWrite& write, const EventSource& source,
                                       OnObject on_answer);

}  // namespace autopilot::kube
