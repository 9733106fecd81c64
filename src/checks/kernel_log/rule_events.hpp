// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "checks/check.hpp"
#include "checks/kernel_log/decoded_record.hpp"

namespace autopilot::checks {

inline constexpr std::size_t kMaxRuleEvents = 256;

using SubjectOf = std::function<Subject(const DecodedRecord& decoded)>;

// Adds to `observed` what the kernel wrote since request.kernel_log_from and a log rule among `rules` (ids of
// the catalog) recognises: an event with the rule as name and value, facts and line as attributes, at most
// the newest kMaxRuleEvents; what is beyond them counts as lost. The log becomes a witness when it can be
// read; otherwise nothing is added and the error is returned.
Status add_rule_events(const host::Host& host, const Request& request,
                       std::span<const std::string_view> rules, const SubjectOf& subject_of,
                       Observed& observed);

// True when the kernel itself wrote the record, or `autopilot inject` did: others are shown and never judged.
[[nodiscard]] bool may_act(const Observation& event);
[[nodiscard]] bool is_injected(const Observation& event);

}  // namespace autopilot::checks
