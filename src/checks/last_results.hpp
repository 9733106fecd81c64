// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "checks/check.hpp"

namespace autopilot::checks {

// What the last active test of that check left (host/tests/results.hpp), each with the moment of this look as
// its time, because it is what is known now, and the end of its test as the attribute `testedAt`. Errors as
// TestResults::last.
[[nodiscard]] Result<Observed> last_results(const host::Host& host, const Request& request,
                                            std::string_view check, std::string_view witness);

}  // namespace autopilot::checks
