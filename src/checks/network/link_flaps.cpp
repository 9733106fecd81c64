// SPDX-License-Identifier: Apache-2.0
#include "checks/network/link_flaps.hpp"

#include <optional>

#include "checks/kernel_log/rule_events.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {

LinkFlaps count_flaps(const History& history, const Subject& port, std::string_view rule,
                      double least_seconds) {
  LinkFlaps flaps;
  std::optional<MonoTime> down_since;
  for (const Observation& event : history.events()) {
    if (event.subject != port || event.name != rule || !may_act(event)) continue;
    if (to_lower(attribute_of(event, "state")) == "down") {
      if (!down_since) down_since = event.time.mono;
      continue;
    }
    if (down_since && to_seconds(event.time.mono - *down_since) > least_seconds) {
      ++flaps.count;
      flaps.last = &event;
    }
    down_since.reset();
  }
  return flaps;
}

}  // namespace autopilot::checks
