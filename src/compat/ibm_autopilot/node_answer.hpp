// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compat/ibm_autopilot/check_answer.hpp"

namespace autopilot::compat::ibm_autopilot {

// In the order of the request.
[[nodiscard]] std::vector<CheckAnswer> answers_of(const std::vector<std::string>& names,
                                                  const NodeSnapshot& snapshot, const Effort& effort = {});

// The reply of this node: one text after the other, each at the beginning of a line. A simulated machine is
// marked first, before the preamble of a single requested check.
[[nodiscard]] std::string to_text(const std::vector<CheckAnswer>& answers, const NodeSnapshot& snapshot,
                                  std::string_view preamble = {});

// `{"node":..,"simulated":..,"statuses":["OK"],"checks":[{"name":..,"check":..,"outcome":..,"fresh":..,
// "resultOf":..,"notRun":..,"text":..}]}`. fresh: false for a result or run that is not current.
[[nodiscard]] std::string to_json(const std::vector<CheckAnswer>& answers, const NodeSnapshot& snapshot);
// `{"node":..,"check":..}`: a test of that check, by our id, was requested and is running.
[[nodiscard]] std::string test_json(std::string_view node, std::string_view check);
// One of these checks, with `node` and `simulated`.
[[nodiscard]] std::string to_json(const CheckAnswer& answer, const NodeSnapshot& snapshot);

}  // namespace autopilot::compat::ibm_autopilot
