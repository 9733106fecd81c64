// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/observation.hpp"
#include "core/subject.hpp"

namespace autopilot::incidents {

// True or false where serials, else UUIDs, say so; nothing where one side has neither.
[[nodiscard]] std::optional<bool> same_card(const Subject& a, const Subject& b);

// The device a subject is part of: the GPU of an NVLink or a GPU instance, anything else itself.
[[nodiscard]] Subject device_of(const Subject& subject);

// Which card sits in which slot, in this boot, as the checks' observations say.
class Placement {
 public:
  void learn(const Observations& observations);
  // The subject with the serial and UUID of the card in its slot, where it named none itself.
  [[nodiscard]] Subject identified(Subject subject) const;
  // Another card sits in the subject's slot.
  [[nodiscard]] bool is_replaced(const Subject& subject) const;
  // Where the subject's card sits now: the same subject with another key, or nothing when it did not move.
  [[nodiscard]] std::optional<Subject> moved_to(const Subject& subject) const;

 private:
  std::map<Subject, Subject> cards_;  // device by slot -> device with serial or UUID
};

}  // namespace autopilot::incidents
