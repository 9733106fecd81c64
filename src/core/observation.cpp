// SPDX-License-Identifier: Apache-2.0

#include "core/observation.hpp"

#include "core/value.hpp"

namespace autopilot {

std::string attribute_text(const Observation& observation, std::string_view name) {
  const Value* found = find_attribute(observation.attributes, name);
  return found == nullptr ? "" : to_string(*found);
}

}  // namespace autopilot
