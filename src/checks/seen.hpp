// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/observation.hpp"

namespace autopilot::checks {

// What one look at the machine saw, in the order of looking; all of it has the moment of the look as its
// time.
class Seen {
 public:
  explicit Seen(Instant now) : now_(now) {}

  // The reference is good until the next call.
  Observation& add(const Subject& subject, std::string_view name, std::string_view source, Value value,
                   std::string_view unit = "");
  // A number that never gets smaller by itself; one beyond 63 bits is taken for the largest.
  Observation& add_count(const Subject& subject, std::string_view name, std::string_view source,
                         std::uint64_t count);
  // Asked for and not answered: `why` is the word of an error or of the check, `what` is for a person.
  Observation& add_missing(const Subject& subject, std::string_view name, std::string_view source,
                           std::string_view why, const std::string& what);
  [[nodiscard]] Observations take() { return std::move(observations_); }

 private:
  Observation& add_empty(const Subject& subject, std::string_view name, std::string_view source);

  Instant now_;
  Observations observations_;
};

}  // namespace autopilot::checks
