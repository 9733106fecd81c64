// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace autopilot::nettest {

// Of neighbours so many that at most `most` are left, which is not 0. Pure.
[[nodiscard]] std::vector<double> means_of(std::vector<double> samples, std::size_t most);

}  // namespace autopilot::nettest
