// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// Which events are shown. Each list is a choice; an empty one admits all. Pure.
struct EventFilter {
  std::optional<WallTime> since;
  std::optional<WallTime> until;    // exclusive
  std::vector<std::string> checks;  // ids, or domains such as "gpu"
  std::vector<std::string>
      subjects;  // "gpu", "gpu/0000:3b:00.0", "gpu/3" or "GPU 3" (the driver's index), "nvme0n1", "host"
  std::vector<std::string> reasons;
  std::vector<std::string> kinds;    // words of EventKind, or their first word: "finding"
  std::vector<std::string> healths;  // words of Health

  [[nodiscard]] bool admits(const Event& event) const;
};

// malformed: a kind or a health that does not exist, with the nearest one, or an end before the begin.
[[nodiscard]] Status check_filter(const EventFilter& filter);

// What exists, for check_names: ids of checks and reasons.
struct EventNames {
  std::vector<std::string> checks;
  std::vector<std::string> reasons;
};
// malformed: a check, domain or reason that is neither in `names` nor in an event, with the nearest one.
[[nodiscard]] Status check_names(const EventFilter& filter, EventNames names,
                                 const std::vector<Event>& events);
// Adds the other spellings of the subjects that the events know: "GPU 3", "gpu/3" and the PCI address name
// one GPU, also in events that have only one of them.
void add_spellings(EventFilter& filter, const std::vector<Event>& events);

// Words of EventKind and their first words, for completion and errors.
[[nodiscard]] std::vector<std::string> event_kind_words();
[[nodiscard]] std::vector<std::string> health_words();

// The events that the filter admits, in the order of time; of one time, in the order in which they were
// recorded.
[[nodiscard]] std::vector<Event> selected_events(std::vector<Event> events, const EventFilter& filter);

// Lines of a table of events. A line with the day precedes the first event and the first one of each further
// day.
class EventLines {
 public:
  [[nodiscard]] std::string line_of(const Event& event);

 private:
  std::string day_;
};

}  // namespace autopilot::cli
