// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/parse.hpp"

namespace autopilot::nettest {

// What another node or a helper said is wrong, as far as a message takes it.
[[nodiscard]] inline std::string problem_text(std::string_view said) {
  constexpr std::size_t kLongest = 300;
  return to_printable(said, kLongest);
}

}  // namespace autopilot::nettest
