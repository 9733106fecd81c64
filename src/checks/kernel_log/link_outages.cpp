// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/link_outages.hpp"

#include <algorithm>
#include <utility>

#include "checks/kernel_log/rule_events.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {

bool LinkOutages::add(Observation event) {
  Key key{event.subject, may_act(event), is_injected(event)};
  auto found = links_.find(key);
  if (found == links_.end()) {
    if (links_.size() >= kMaxLinks) return false;
    found = links_.emplace(std::move(key), Link{}).first;
  }
  Link& link = found->second;
  if (to_lower(attribute_of(event, "state")) == "down") {
    link.current.down = std::move(event);
    return true;
  }
  if (link.current.down) link.finish();
  link.current.up = std::move(event);
  return true;
}

void LinkOutages::Link::finish() {
  const auto length = [](const Outage& outage) {
    return outage.down && outage.up ? outage.up->time.mono - outage.down->time.mono : Duration::max();
  };
  outages.push_back(std::exchange(current, {}));
  if (outages.size() > kMaxOutages) outages.erase(std::ranges::min_element(outages, {}, length));
}

void LinkOutages::move_to(Observations& events, Outage& outage) {
  if (outage.down) events.push_back(*std::move(outage.down));
  if (outage.up) events.push_back(*std::move(outage.up));
}

Observations LinkOutages::take() {
  Observations events;
  for (auto& [key, link] : links_) {
    link.finish();
    for (Outage& outage : link.outages)
      move_to(events, outage);
  }
  links_.clear();
  return events;
}

}  // namespace autopilot::checks
