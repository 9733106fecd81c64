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

net::ServerEvent gap(std::uint64_t after, std::uint64_t continues) {
  return {"", "gap",
          "{\"after\":" + std::to_string(after) + ",\"continues\":" + std::to_string(continues) + "}"};
}

}  // namespace

std::vector<net::ServerEvent> what_followed(std::uint64_t last_id, const runtime::EventLog& log) {
  std::vector<net::ServerEvent> events;
  const std::uint64_t newest = log.newest_shown();
  if (last_id > newest) return {gap(last_id, newest + 1)};
  std::uint64_t before = last_id;
  for (const Event& event : log.after(last_id)) {
    if (before > 0 && event.id != before + 1) events.push_back(gap(before, event.id));
    events.push_back(to_server_event(event));
    before = event.id;
  }
  return events;
}

void EventStreams::add(net::EventStream stream, std::uint64_t last_id, const runtime::EventLog& log) {
  for (const net::ServerEvent& event : what_followed(last_id, log))
    if (!stream.send(event)) return;
  streams_.push_back(std::move(stream));
}

void EventStreams::send(const std::vector<Event>& events) {
  for (const Event& event : events) {
    const net::ServerEvent wire = to_server_event(event);
    std::erase_if(streams_, [&wire](net::EventStream& stream) { return !stream.send(wire); });
  }
}

}  // namespace autopilot::agent
