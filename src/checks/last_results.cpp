// SPDX-License-Identifier: Apache-2.0
#include "checks/last_results.hpp"

#include "host/host.hpp"

namespace autopilot::checks {

Result<Observed> last_results(const host::Host& host, const Request& request, std::string_view check,
                              std::string_view witness) {
  Observed observed;
  observed.observations = TRY(host.tests.last(check));
  for (Observation& observation : observed.observations) {
    observation.attributes.emplace_back("testedAt", format_time(observation.time.wall));
    observation.time = request.now;
  }
  observed.witnesses = {std::string(witness)};
  return observed;
}

std::string text_of(const Observation& observation, std::string_view attribute) {
  const Value* found = find_attribute(observation.attributes, attribute);
  return found == nullptr ? "" : to_string(*found);
}

}  // namespace autopilot::checks
