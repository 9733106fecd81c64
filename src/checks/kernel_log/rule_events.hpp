// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/kernel_log/decode.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

// The rule of the catalog that recognises "Link up" and "Link down".
inline constexpr std::string_view kLinkRule = "network.link";

inline constexpr std::size_t kMaxRuleEvents = 256;
// Events of one rule, subject and writer; see event_count.
inline constexpr std::size_t kMaxEqualEvents = 16;

using SubjectOf = std::function<Subject(const DecodedRecord& decoded)>;
// The subject that the record's rule names, by `facts`.
[[nodiscard]] Subject subject_by_rule(const catalog::Catalog& facts, const DecodedRecord& decoded);

// The event of a record: the rule is its name and value, facts and line are attributes.
[[nodiscard]] Observation rule_event(const host::KernelRecord& record, const DecodedRecord& decoded,
                                     const Subject& subject, const std::string& witness);

// Adds to `observed` an event for each kernel log record since request.kernel_log_from that matches a rule of
// `rules` (ids of the catalog). A storm stays small: of records with the same rule and subject the first ones
// and the newest are kept, and the newest has their count; of link outages the longest are kept. Records
// below request.kernel_log_counted are kept separately. Beyond kMaxRuleEvents of each the oldest are omitted,
// and count as dropped if they are new. If the log can be read it is added to `witnesses`; otherwise nothing
// is added, and the error is returned.
Status add_rule_events(const host::Host& host, const Request& request,
                       std::span<const std::string_view> rules, const SubjectOf& subject_of,
                       Observed& observed);
// The same with the rules on the check's page in the catalog.
Status add_rule_events(const host::Host& host, const Request& request, std::string_view check,
                       const SubjectOf& subject_of, Observed& observed);
// The same, with the subject that the rule names.
Status add_rule_events(const host::Host& host, const Request& request, std::string_view check,
                       Observed& observed);

// The same with an operator's log rules. `decoder` knows only these; lines that built-in rules recognise
// count too. The subject is that of the rule in `facts`.
Status add_rule_events(const host::Host& host, const Request& request, const Decoder& decoder,
                       const catalog::Catalog& facts, Observed& observed);

// True if the kernel itself, or `autopilot inject`, wrote the record. Other records are shown and never
// judged.
[[nodiscard]] bool may_act(const Observation& event);
[[nodiscard]] bool is_injected(const Observation& event);
// A named group of its rule; empty if missing.
[[nodiscard]] std::string attribute_of(const DecodedRecord& decoded, std::string_view name);
[[nodiscard]] std::string attribute_of(const Observation& event, std::string_view name);
// False if missing.
[[nodiscard]] bool is_true(const Observation& event, std::string_view name);
// nullopt: missing, or not a number.
[[nodiscard]] std::optional<int> attribute_number(const Observation& event, std::string_view name);
// Adds the line of the event to the evidence. A finding based on an injected line is injected.
void add_line(Finding& finding, const Observation& event);

// Findings from the records of the history by the catalog's log rules: one for each subject and reason, with
// the worst health of its rules, the newest line as evidence, and the number of lines in the message. Records
// from user space and unverified ones cause none; injected ones cause separate findings. A line no longer
// counts after a later one retracts it or its reason expires.
[[nodiscard]] Findings rule_findings(const JudgeInput& input);

// For judges with their own health: `health`, or degraded if the rule of the event is unproven.
[[nodiscard]] Health allowed_health(const JudgeInput& input, const Observation& event, Health health);

}  // namespace autopilot::checks
