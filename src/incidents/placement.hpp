// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/observation.hpp"
#include "core/subject.hpp"

namespace autopilot::incidents {

// Compares serials, else UUIDs; nullopt if one side has neither.
[[nodiscard]] std::optional<bool> same_card(const Subject& a, const Subject& b);

// The device of a subject: the GPU of an NVLink or a GPU instance; other subjects are their own device.
[[nodiscard]] Subject device_of(const Subject& subject);

// Card in each slot in this boot, from observations.
class Placement {
 public:
  void learn(const Observations& observations);
  // The subject, completed with serial and UUID of the card in its slot.
  [[nodiscard]] Subject identified(Subject subject) const;
  // True if another card is in the subject's slot.
  [[nodiscard]] bool is_replaced(const Subject& subject) const;
  // The subject with the key of its card's new slot; nullopt: not moved.
  [[nodiscard]] std::optional<Subject> moved_to(const Subject& subject) const;

 private:
  std::map<Subject, Subject> cards_;  // device by slot -> device with serial or UUID
};

}  // namespace autopilot::incidents
