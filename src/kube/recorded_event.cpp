// SPDX-License-Identifier: Apache-2.0
#include "kube/recorded_event.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>

#include "kube/json_object.hpp"
#include "kube/object_text.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

std::string_view first_text(std::string_view one, std::string_view other) {
  return one.empty() ? other : one;
}

}  // namespace

// Clients of events.k8s.io/v1 leave count and the timestamps empty, and set series and eventTime.
RecordedEvent parse_recorded_event(const JsonObject& object) {
  const json::object& members = object.value;
  RecordedEvent event;
  event.kind = text_at(members, {"involvedObject", "kind"});
  event.name = text_at(members, {"involvedObject", "name"});
  event.component =
      first_text(text_at(members, {"reportingComponent"}), text_at(members, {"source", "component"}));
  event.type = text_at(members, {"type"});
  event.reason = text_at(members, {"reason"});
  event.message = text_at(members, {"message"});
  event.count = std::max<std::int64_t>(1, std::max(number_at(members, {"count"}).value_or(1),
                                                   number_at(members, {"series", "count"}).value_or(1)));
  event.first = parse_time(text_at(members, {"firstTimestamp"}));
  if (!event.first) event.first = parse_time(text_at(members, {"eventTime"}));
  if (!event.first) event.first = parse_time(text_at(members, {"metadata", "creationTimestamp"}));
  // A missing time sorts before any other.
  event.last = std::max({event.first, parse_time(text_at(members, {"lastTimestamp"})),
                         parse_time(text_at(members, {"series", "lastObservedTime"}))});
  return event;
}

}  // namespace autopilot::kube
