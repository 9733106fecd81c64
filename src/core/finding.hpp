// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/action.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "core/subject.hpp"
#include "core/value.hpp"

namespace autopilot {

// A statement of a check about one subject. Its identity is check + subject + reason, and the driver's error
// code if the evidence has one (incidents/evidence.hpp). A healthy subject has no finding.
struct Finding {
  Subject subject;
  Health health = Health::unknown;
  std::string reason;   // one snake_case key of catalog/reasons.yaml
  std::string message;  // one sentence for a person, including the values
  Attributes evidence;  // line, value, threshold, thresholdSource, witness, ...
  Action action = Action::none;
  WallTime since{};  // start of the condition: set by judge if the evidence has it, else by the state machine
  WallTime last_seen{};     // set by the state machine: time of the last run that reported it
  std::string clears_when;  // set by the state machine: the catalog's clear rule, as text for a person
  bool injected =
      false;          // created by `autopilot inject`; shown, but changes no health and triggers no action
  bool held = false;  // set by the state machine: the condition is gone, its clear rule has not fired yet
};

using Findings = std::vector<Finding>;

// The reason of an `unknown` finding whose cause is a missing permission.
inline constexpr std::string_view kNotPermitted = "not_permitted";

}  // namespace autopilot
