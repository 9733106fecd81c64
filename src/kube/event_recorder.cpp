// SPDX-License-Identifier: Apache-2.0
#include "kube/event_recorder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <utility>

#include "core/cut_utf8.hpp"
#include "core/parse.hpp"

namespace autopilot::kube {
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

}  // namespace autopilot::kube
