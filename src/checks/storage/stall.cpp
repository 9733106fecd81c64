// SPDX-License-Identifier: Apache-2.0
#include "checks/storage/stall.hpp"

namespace autopilot::checks {

Duration stalled_for(const History& history, const Subject& disk) {
  const auto completed = history.samples(disk, kBlockCompleted);
  const auto in_flight = history.samples(disk, kBlockInFlight);
  if (completed.size() != in_flight.size()) return Duration{0};
  Duration stalled{0};
  for (std::size_t i = completed.size(); i-- > 1;) {
    const bool is_stalled = completed[i].value == completed[i - 1].value &&
                            as_number(in_flight[i].value) > 0.0 && as_number(in_flight[i - 1].value) > 0.0;
    if (!is_stalled) break;
    stalled += completed[i].time - completed[i - 1].time;
  }
  return stalled;
}

}  // namespace autopilot::checks
