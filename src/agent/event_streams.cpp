// SPDX-License-Identifier: Apache-2.0
#include "agent/event_streams.hpp"

#include <string>
#include <utility>

#include "api/v1.hpp"

namespace autopilot::agent {
namespace {

net::ServerEvent to_server_event(const Event& event) {
  std::string data = api::to_json(event);
  // A line end in the data would begin another line of data.
  if (data.ends_with('\n')) data.pop_back();
  return {std::to_string(event.id), std::string(to_string(event.kind)), std::move(data)};
}

}  // namespace

void EventStreams::add(net::EventStream stream, std::uint64_t last_id, const runtime::EventLog& log) {
  const std::uint64_t oldest = log.oldest_kept();
  if (last_id > 0 && oldest > last_id + 1)
    stream.send({"", "gap",
                 "{\"after\":" + std::to_string(last_id) + ",\"continues\":" + std::to_string(oldest) + "}"});
  for (const Event& event : log.after(last_id))
    if (!stream.send(to_server_event(event))) return;
  streams_.push_back(std::move(stream));
}

void EventStreams::send(const std::vector<Event>& events) {
  for (const Event& event : events) {
    const net::ServerEvent wire = to_server_event(event);
    std::erase_if(streams_, [&wire](net::EventStream& stream) { return !stream.send(wire); });
  }
}

}  // namespace autopilot::agent
