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
// Of one rule, subject and writer; see event_count.
inline constexpr std::size_t kMaxEqualEvents = 16;

using SubjectOf = std::function<Subject(const DecodedRecord& decoded)>;
// What the record's rule names, by `facts`.
[[nodiscard]] Subject subject_by_rule(const catalog::Catalog& facts, const DecodedRecord& decoded);

// The event of a record: the rule as name and value, facts and line as attributes.
[[nodiscard]] Observation rule_event(const host::KernelRecord& record, const DecodedRecord& decoded,
                                     const Subject& subject, const std::string& witness);

// Adds to `observed` what the kernel wrote since request.kernel_log_from and a log rule among `rules` (ids of
// the catalog) recognises: an event with the rule as name and value, facts and line as attributes. A storm
// stays small: of records that say the same of the same subject the first and the newest are kept, and the
// first says how many it stands for; of losses of a link the longest (LinkOutages). Records below
// request.kernel_log_counted are kept apart from the others. Beyond kMaxRuleEvents of each the oldest are
// left out, and count as dropped where they are new. The log becomes a witness when it can be read; otherwise
// nothing is added and the error is returned.
Status add_rule_events(const host::Host& host, const Request& request,
                       std::span<const std::string_view> rules, const SubjectOf& subject_of,
                       Observed& observed);
// The same with the rules that the page of the check lists.
Status add_rule_events(const host::Host& host, const Request& request, std::string_view check,
                       const SubjectOf& subject_of, Observed& observed);
// And each about the subject that the rule names.
Status add_rule_events(const host::Host& host, const Request& request, std::string_view check,
                       Observed& observed);

// With the log rules of an operator, of which `decoder` knows no others, whatever else recognises the lines:
// each about the subject that its rule in `facts` names.
Status add_rule_events(const host::Host& host, const Request& request, const Decoder& decoder,
                       const catalog::Catalog& facts, Observed& observed);

// True when the kernel itself wrote the record, or `autopilot inject` did: others are shown and never judged.
[[nodiscard]] bool may_act(const Observation& event);
[[nodiscard]] bool is_injected(const Observation& event);
// How many records the event stands for.
[[nodiscard]] std::int64_t event_count(const Observation& event);
// A named group of its rule; empty where the line had none.
[[nodiscard]] std::string attribute_of(const DecodedRecord& decoded, std::string_view name);
[[nodiscard]] std::string attribute_of(const Observation& event, std::string_view name);
// False where it has none of that name.
[[nodiscard]] bool is_true(const Observation& event, std::string_view name);
// Nothing: it has none of that name, or it is no number.
[[nodiscard]] std::optional<int> attribute_number(const Observation& event, std::string_view name);
// The line of the event becomes evidence; what an injected line proves is injected.
void add_line(Finding& finding, const Observation& event);

// What the records of the history say by the log rules of the catalog: one finding for each subject and
// reason, of the worst health among the rules that give it, with the newest line as evidence and how many
// there were in the message. Records that user space wrote, and unverified ones, make none; injected ones
// make findings of their own. A line is over when a later one takes it back or its reason expired.
[[nodiscard]] Findings rule_findings(const JudgeInput& input);

// For judges that choose a health themselves: `health`, or degraded where the rule of the event is unproven.
[[nodiscard]] Health allowed_health(const JudgeInput& input, const Observation& event, Health health);

}  // namespace autopilot::checks
