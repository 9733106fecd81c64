// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/rule_events.hpp"

#include <algorithm>

#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

// Compiling the rules takes longer than matching a day of records. Never destroyed: a look that does not
// return may still use it when the process ends.
const Decoder& builtin_decoder() {
  static const Decoder& decoder = *new Decoder(catalog::builtin());
  return decoder;
}

Observation to_event(const host::KernelRecord& record, const DecodedRecord& decoded, const Subject& subject,
                     const std::string& witness) {
  Observation event;
  event.name = decoded.rule;
  event.subject = subject;
  event.value = decoded.rule;
  event.source = witness;
  event.time = record.time;
  event.sequence = record.sequence;
  event.attributes = to_attributes(decoded);
  std::erase_if(event.attributes, [](const auto& attribute) {
    return attribute.first == "text" || attribute.first == "line" || attribute.first == "rule";
  });
  event.attributes.emplace_back("line", line_of(record.text));
  return event;
}

bool is_true(const Observation& event, std::string_view attribute) {
  const Value* value = find_attribute(event.attributes, attribute);
  return value != nullptr && *value == Value{true};
}

}  // namespace

Status add_rule_events(const host::Host& host, const Request& request,
                       std::span<const std::string_view> rules, const SubjectOf& subject_of,
                       Observed& observed) {
  const auto log = TRY(host.kernel_log.read(request.kernel_log_from, request.deadline));
  observed.witnesses.push_back(log.witness);
  observed.kernel_log_next = log.next;
  observed.records_lost = log.lost;
  Observations newest_first;
  std::for_each(log.records.rbegin(), log.records.rend(), [&](const host::KernelRecord& record) {
    if (may_be_nvidia(record.text)) return;  // a storm of the driver's lines is another check's
    const auto decoded = builtin_decoder().decode(record);
    if (!decoded || std::find(rules.begin(), rules.end(), decoded->rule) == rules.end()) return;
    if (newest_first.size() < kMaxRuleEvents)
      newest_first.push_back(to_event(record, *decoded, subject_of(*decoded), log.witness));
    else
      ++observed.records_lost;
  });
  observed.observations.insert(observed.observations.end(), std::make_move_iterator(newest_first.rbegin()),
                               std::make_move_iterator(newest_first.rend()));
  return {};
}

bool may_act(const Observation& event) {
  return is_true(event, "fromKernel") || is_injected(event);
}

bool is_injected(const Observation& event) {
  return is_true(event, "injected");
}

}  // namespace autopilot::checks
