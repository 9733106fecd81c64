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

// Facts that wait to become Events, the newest `most` of them: one is under way at a time, until the server
// has it or will never take it. On one thread.
class EventQueue {
 public:
  explicit EventQueue(std::size_t most, const EventLimits& limits = {}) : most_(most), recorder_(limits) {}

  void note(const EventFact& fact, const Instant& now);
  // What is to be written now, the same until written() or refused(); null: nothing waits.
  [[nodiscard]] EventWrite* next();
  // The server has it.
  void written() { under_way_.reset(); }
  // The server answered so; what can be written otherwise is, what never can is dropped.
  void refused(ApiOutcome outcome);
  // It is given up.
  void drop();

  [[nodiscard]] bool has_next() const { return under_way_ || !waiting_.empty(); }
  // Events that were never written: too many waited, their object talks too much, or the server takes none.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_ + recorder_.dropped(); }

 private:
  std::size_t most_;
  EventRecorder recorder_;
  std::deque<EventWrite> waiting_;
  std::optional<EventWrite> under_way_;
  std::uint64_t dropped_ = 0;
};

// Who tells it: "autopilot-agent" on a host.
struct EventSource {
  std::string component;
  std::string host;
};

// The body of the request that makes it, or of the patch that brings it up to date.
[[nodiscard]] std::string event_json(const EventWrite& write, const EventSource& source);
[[nodiscard]] net::Exchange send_event(Client& client, const EventWrite& write, const EventSource& source,
                                       OnObject on_answer);

}  // namespace autopilot::kube
