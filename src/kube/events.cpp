// SPDX-License-Identifier: Apache-2.0

#include "kube/events.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

constexpr std::string_view kCombined = "(combined from similar events): ";
// Object names have at most 253 bytes; a dot and the hexadecimal part need 17.
constexpr std::size_t kLongestObject = 253 - 17;

// No part contains the separator: the API server refuses it in names, and reasons are our own.
std::string joined(const EventObject& object) {
  std::string key;
  for (const std::string* part :
       {&object.api_version, &object.kind, &object.name_space, &object.name, &object.uid})
    key.append(*part).push_back('\0');
  return key;
}

std::string shortened(std::string_view text) {
  // Further bytes are not needed: to_utf8 never shortens.
  const std::string valid = to_utf8(text.substr(0, 2 * EventRecorder::kLongestMessage));
  return std::string(cut_utf8(valid, EventRecorder::kLongestMessage));
}

}  // namespace

std::string_view to_string(EventType type) {
  return type == EventType::warning ? "Warning" : "Normal";
}

EventRecorder::EventRecorder(const EventLimits& limits)
    : limits_(limits), similar_(limits.names), events_(limits.names), talk_(limits.names) {}

std::uint64_t EventRecorder::forgotten() const {
  return similar_.forgotten() + events_.forgotten() + talk_.forgotten();
}

std::optional<EventWrite> EventRecorder::record(const EventFact& fact, const Instant& now) {
  const std::string object = joined(fact.object);
  const std::string kind = object + std::string(to_string(fact.type)) + '\0' + fact.reason;
  std::string message = shortened(fact.message);
  std::string key = kind;  // key of combined messages
  if (is_one_too_many(kind, message, now.mono))
    message = shortened(std::string(kCombined) + message);
  else
    key.append(1, '\0').append(message);

  Event& event = count(key, fact, now);
  if (!talk_.get(object, TokenBucket(limits_.burst, limits_.spacing)).take(now.mono)) {
    ++dropped_;
    return std::nullopt;
  }
  const bool is_known = std::exchange(event.is_written, true);
  EventWrite write;
  write.kind = is_known ? EventWrite::Kind::patch : EventWrite::Kind::create;
  write.name_space = fact.object.name_space.empty() ? "default" : fact.object.name_space;
  write.name = event.name;
  write.object = fact.object;
  write.type = fact.type;
  write.reason = fact.reason;
  write.message = std::move(message);
  write.count = event.count;
  write.first = event.first;
  write.last = now.wall;
  return write;
}

bool EventRecorder::is_one_too_many(const std::string& kind, const std::string& message, MonoTime now) {
  Similar& similar = similar_.get(kind, {});
  if (now - similar.last > limits_.window) similar.messages.clear();
  similar.last = now;
  const std::size_t hash = std::hash<std::string>{}(message);
  if (similar.messages.contains(hash)) return false;
  if (similar.messages.size() >= limits_.messages) return true;
  similar.messages.insert(hash);
  return false;
}

EventRecorder::Event& EventRecorder::count(const std::string& key, const EventFact& fact,
                                           const Instant& now) {
  Event& event = events_.get(key, {});
  if (event.count == 0 || now.mono - event.last > limits_.window)
    event = {.name = new_name(fact.object.name, now.wall),
             .count = 0,
             .first = now.wall,
             .last = now.mono,
             .is_written = false};
  event.last = now.mono;
  if (event.count < std::numeric_limits<std::int32_t>::max()) ++event.count;
  return event;
}

// Names are unique, also if the clock stops or goes back.
std::string EventRecorder::new_name(const std::string& object, WallTime now) {
  last_name_ns_ = std::max<std::int64_t>(now.time_since_epoch().count(), last_name_ns_ + 1);
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), last_name_ns_, 16).ptr;
  std::string name = object.substr(0, kLongestObject);
  // After truncation: the text before a dot must end with a letter or digit.
  while (name.ends_with('.') || name.ends_with('-'))
    name.pop_back();
  return name.append(1, '.').append(digits.data(), end);
}

namespace {

std::string path_of(const EventWrite& write) {
  return "/api/v1/namespaces/" + write.name_space + "/events";
}

json::object object_json(const EventObject& object) {
  json::object reference{
      {"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.name}, {"uid", object.uid}};
  if (!object.name_space.empty()) reference["namespace"] = object.name_space;
  return reference;
}

}  // namespace

void EventQueue::note(const EventFact& fact, const Instant& now) {
  auto write = recorder_.record(fact, now);
  if (!write) return;
  if (waiting_.size() >= most_) {
    waiting_.pop_front();
    ++dropped_;
  }
  waiting_.push_back(std::move(*write));
}

EventWrite* EventQueue::next() {
  if (!under_way_ && !waiting_.empty()) {
    under_way_ = std::move(waiting_.front());
    waiting_.pop_front();
  }
  return under_way_ ? &*under_way_ : nullptr;
}

void EventQueue::refused(ApiOutcome outcome) {
  if (!under_way_) return;
  const bool is_patch = under_way_->kind == EventWrite::Kind::patch;
  if (is_patch && outcome == ApiOutcome::not_found) {
    under_way_->kind = EventWrite::Kind::create;  // the server no longer has it
  } else if (!is_patch && outcome == ApiOutcome::conflict) {
    under_way_->kind = EventWrite::Kind::patch;  // it arrived, although the response was lost
  } else if (outcome == ApiOutcome::invalid) {
    drop();
  }
}

void EventQueue::drop() {
  under_way_.reset();
  ++dropped_;
}

std::string event_json(const EventWrite& write, const EventSource& source) {
  json::object event{
      {"message", write.message}, {"count", write.count}, {"lastTimestamp", api_time(write.last)}};
  if (write.kind == EventWrite::Kind::create) {
    event["apiVersion"] = "v1";
    event["kind"] = "Event";
    event["metadata"] = json::object{{"name", write.name}, {"namespace", write.name_space}};
    event["involvedObject"] = object_json(write.object);
    event["type"] = to_string(write.type);
    event["reason"] = write.reason;
    event["firstTimestamp"] = api_time(write.first);
    event["source"] = json::object{{"component", source.component}, {"host", source.host}};
    event["reportingComponent"] = source.component;
    event["reportingInstance"] = source.host;
  }
  return json::serialize(event);
}

net::Exchange send_event(Client& client, const EventWrite& write, const EventSource& source,
                         OnObject on_answer) {
  std::string body = event_json(write, source);
  if (write.kind == EventWrite::Kind::create)
    return client.create({path_of(write), {}}, std::move(body), std::move(on_answer));
  return client.patch({path_of(write) + "/" + write.name, {}}, Patch::merge, std::move(body),
                      std::move(on_answer));
}

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
