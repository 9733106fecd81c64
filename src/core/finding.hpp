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

// An opinion of a check about one subject. Identity is check + subject + reason, and the driver's error code
// where the evidence has one (incidents/error_code.hpp). A healthy subject has none.
struct Finding {
  Subject subject;
  Health health = Health::unknown;
  std::string reason;   // one snake_case word of catalog/reasons.yaml
  std::string message;  // one sentence for a person, with the values in it
  Attributes evidence;  // line, value, threshold, thresholdSource, witness, ...
  Action action = Action::none;
  WallTime
      since{};  // when the condition began: of the judge where its evidence says, else of the state machine
  WallTime last_seen{};     // set by the state machine: the last round that reported it
  std::string clears_when;  // set by the state machine: for a person, from the catalog's clear rule
  bool injected = false;    // made by `autopilot inject`; shown, changes no health and never acts
  bool held = false;  // set by the state machine: the condition is gone, its clear rule has not fired yet
};

using Findings = std::vector<Finding>;

// The reason of a finding that says `unknown` because a right is missing.
inline constexpr std::string_view kNotPermitted = "not_permitted";

}  // namespace autopilot
