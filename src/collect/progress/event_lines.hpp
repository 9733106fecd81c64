// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "collect/progress/step_patterns.hpp"
#include "core/clock.hpp"

namespace autopilot::collect {

// Event lines of a training framework, as DLRover's trainer prints them:
// "[<time>] [<id of a span>] [<target>] [<name>] [BEGIN|END|INSTANT] {<content>}"
enum class EventEdge : std::uint8_t { begin, end, instant };

struct EventLine {
  std::optional<WallTime> time;  // the program's clock without its zone: for differences only
  std::string_view id;
  std::string_view name;  // without a leading "#"
  EventEdge edge = EventEdge::instant;
  std::optional<std::int64_t> step;  // global_step of the content
  std::optional<double> loss;        // of its logs
};

// nullopt: another line. Views are into `line`.
[[nodiscard]] std::optional<EventLine> parse_event_line(std::string_view line);

// The facts of the event lines of one log. Not thread-safe.
class EventSpans {
 public:
  static constexpr std::size_t kMaxOpen = 16;  // spans without an end; beyond it the first is forgotten

  [[nodiscard]] LineFacts read(const EventLine& line);

 private:
  [[nodiscard]] std::optional<double> duration_s(const EventLine& line);

  std::map<std::string, WallTime, std::less<>> begun_;  // by id of the span
  bool persists_ = false;  // checkpoints are written in the background, and are durable after that
};

}  // namespace autopilot::collect
