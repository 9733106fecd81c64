// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/event.hpp"
#include "net/http_server.hpp"
#include "runtime/event_log.hpp"

namespace autopilot::agent {

// Open `/v1/events` streams. All on the loop's thread.
class EventStreams {
 public:
  // First what the reader missed after `last_id`, then everything new. An id that is no longer kept begins
  // with a comment event "gap" whose data says from where.
  void add(net::EventStream stream, std::uint64_t last_id, const runtime::EventLog& log);
  void send(const std::vector<Event>& events);
  [[nodiscard]] std::size_t size() const { return streams_.size(); }

 private:
  std::vector<net::EventStream> streams_;
};

}  // namespace autopilot::agent
