// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/event.hpp"
#include "net/http_server.hpp"
#include "runtime/event_log.hpp"

namespace autopilot::agent {

// The events after last_id, the last event that the reader received; 0: none. Ids that the log no longer
// holds, and an id of no event, are replaced by an event "gap" without an id, whose data names the ids around
// it.
[[nodiscard]] std::vector<net::ServerEvent> what_followed(std::uint64_t last_id,
                                                          const runtime::EventLog& log);

// Open `/v1/events` streams. All on the loop's thread.
class EventStreams {
 public:
  // First what the reader missed after `last_id`, then everything new.
  void add(net::EventStream stream, std::uint64_t last_id, const runtime::EventLog& log);
  void send(const std::vector<Event>& events);
  [[nodiscard]] std::size_t size() const { return streams_.size(); }

 private:
  std::vector<net::EventStream> streams_;
};

}  // namespace autopilot::agent
