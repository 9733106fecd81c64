// SPDX-License-Identifier: Apache-2.0
#include "postflight/record_id.hpp"

#include "core/parse.hpp"
#include "core/stable_hash.hpp"
#include "learning/record_members.hpp"

namespace autopilot::postflight {

std::string record_id(std::string whole) {
  const bool is_storable = whole.size() <= learning::kLongestName && whole.find('\0') == std::string::npos &&
                           to_utf8(whole) == whole;
  return is_storable ? whole : "hash/" + stable_hash(whole).hex();
}

}  // namespace autopilot::postflight
