// SPDX-License-Identifier: Apache-2.0
#include "api/fault_trace.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "api/json_cursor.hpp"

namespace autopilot::api {
namespace {

// Members of one object that were read.
class TraceMembers {
 public:
  // False if the member was there before.
  bool add(std::string_view name) {
    for (const std::string_view known : seen_)
      if (known == name) return false;
    seen_.push_back(name);
    return true;
  }
  // The first of the names that is missing; empty: all are there.
  template <std::size_t N>
  [[nodiscard]] std::string_view missing(const std::string_view (&names)[N]) const {
    for (const std::string_view name : names)
      if (std::ranges::find(seen_, name) == seen_.end()) return name;
    return {};
  }

 private:
  std::vector<std::string_view> seen_;
};

constexpr std::string_view kEventNames[]{"node_id", "event_time", "event_type", "fault_type"};
constexpr std::string_view kTypeNames[]{"Level", "Class", "Desc"};

// The list of entries, and the member that is being read.
class TraceReader {
 public:
  explicit TraceReader(std::string_view text) : json_(text) {}

  [[nodiscard]] JsonCursor& json() { return json_; }
  bool read_event(learning::FaultEvent& event) {
    return read_object(kEventNames, [&](std::string_view name) {
      if (name == "node_id") return read_text(false, event.node);
      if (name == "event_time") return read_day(event.day);
      if (name == "event_type") return read_event_type(event.is_begin);
      return read_fault_type(event);
    });
  }
  // "event_time: expected a number"
  [[nodiscard]] std::string problem() const {
    return member_.empty() ? json_.problem() : member_ + ": " + json_.problem();
  }

 private:
  bool fail(std::string_view member, std::string_view what) {
    member_ = member.substr(0, kLongestName);
    return json_.fail(what);
  }

  // Calls read(name) for each member; all `names` must be there, once, and no others.
  template <std::size_t N, class Read>
  bool read_object(const std::string_view (&names)[N], Read read) {
    if (!json_.enter_object()) return false;
    TraceMembers members;
    std::string_view name;
    while (json_.next_member(name)) {
      if (std::ranges::find(names, name) == std::end(names))
        return fail(name, "is not a member of the format");
      if (!members.add(name)) return fail(name, "appears twice");
      member_ = name;
      if (!read(name)) return false;
      member_.clear();
    }
    if (json_.has_failed()) return false;
    const std::string_view missing = members.missing(names);
    return missing.empty() || fail(missing, "is missing");
  }

  bool read_text(bool can_be_empty, std::string& text) {
    if (!json_.read_text(text)) return false;
    if (text.empty() && !can_be_empty) return json_.fail("is empty");
    if (text.size() <= kLongestTraceText) return true;
    return json_.fail("longer than " + std::to_string(kLongestTraceText) + " bytes");
  }

  bool read_day(double& day) {
    JsonNumber number;
    if (!json_.read_number(number)) return false;
    day = number.value;
    if (day >= 0 && day <= kLatestTraceDay) return true;
    return json_.fail("expected 0 to " + std::to_string(static_cast<int>(kLatestTraceDay)) + " days");
  }

  bool read_event_type(bool& is_begin) {
    std::string word;
    if (!json_.read_text(word)) return false;
    is_begin = word == "fault_start";
    if (is_begin || word == "fault_end") return true;
    return json_.fail("'" + word.substr(0, kLongestName) +
                      "' is not valid; expected fault_start or fault_end");
  }

  bool read_fault_type(learning::FaultEvent& event) {
    return read_object(kTypeNames, [&](std::string_view name) {
      return read_text(true, name == "Level"   ? event.level
                             : name == "Class" ? event.kind
                                               : event.description);
    });
  }

  static constexpr std::size_t kLongestName = 64;  // bytes of a name in a problem

  JsonCursor json_;
  std::string member_;
};

}  // namespace

Result<std::vector<learning::FaultEvent>> parse_fault_trace(std::string_view text) {
  if (text.size() > kLargestTrace)
    return fail(Errc::exhausted, "the trace is larger than " + std::to_string(kLargestTrace >> 20U) + " MiB");
  TraceReader reader(text);
  JsonCursor& json = reader.json();
  std::vector<learning::FaultEvent> events;
  bool is_too_long = false;
  if (json.enter_list())
    while (json.next_item()) {
      is_too_long = events.size() == kMostTraceEvents;
      if (is_too_long || !reader.read_event(events.emplace_back())) break;
    }
  if (is_too_long)
    return fail(Errc::exhausted, "the trace has more than " + std::to_string(kMostTraceEvents) + " entries");
  if (!json.has_failed()) json.expect_end();
  if (json.has_failed()) {
    const std::string place = events.empty() ? "" : "entry " + std::to_string(events.size() - 1) + ": ";
    return fail(Errc::malformed, place + reader.problem());
  }
  if (events.empty()) return fail(Errc::malformed, "the trace has no entry");
  return events;
}

}  // namespace autopilot::api
