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

}  // namespace autopilot::checks
