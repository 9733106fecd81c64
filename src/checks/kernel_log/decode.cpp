// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/decode.hpp"

#include <string>
#include <utility>

#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "core/parse.hpp"
#include "core/subject.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

catalog::LogPatterns compiled(const std::vector<catalog::LogRule>& rules) {
  auto patterns = catalog::LogPatterns::compile(rules);
  AUTOPILOT_ASSERT(patterns.has_value());  // the readers of rules refuse others
  return *std::move(patterns);
}

// Whose control group it is, where its path tells that.
void add_owner(std::string_view cgroup, DecodedRecord& decoded) {
  const WorkloadOwner owner = host::parse_cgroup_path(cgroup);
  for (const auto& [name, value] : {std::pair("podUid", owner.pod_uid),
                                    std::pair("container", owner.container), std::pair("job", owner.job)})
    if (!value.empty()) decoded.attributes.emplace_back(name, value);
}

}  // namespace

Decoder::Decoder(const catalog::Catalog& facts) : facts_(facts), patterns_(compiled(facts.log_rules())) {}

// Compiling the rules takes longer than matching a day of records. Never destroyed: a look that does not
// return may still use it when the process ends.
const Decoder& builtin_decoder() {
  static const Decoder& decoder = *new Decoder(catalog::builtin());
  return decoder;
}

std::optional<DecodedRecord> Decoder::decode(const host::KernelRecord& record) const {
  auto decoded = decode_nvidia(record);
  if (!decoded) return decode_by_rules(record);
  add_facts(facts_, *decoded);
  return decoded;
}

std::optional<DecodedRecord> Decoder::decode_by_rules(const host::KernelRecord& record) const {
  const auto match = patterns_.first_match(record.text);
  if (!match) return std::nullopt;
  const catalog::LogRule& rule = facts_.log_rules()[match->rule];

  DecodedRecord decoded;
  decoded.kind = rule.kind;
  decoded.rule = rule.id;
  decoded.text = record.text;
  decoded.injected = record.injected;
  decoded.from_kernel = record.from_kernel();
  decoded.from_user = record.facility != 0;
  decoded.line = record.sequence;
  for (const auto& [name, value] : match->groups) {
    if (name == "pid")
      decoded.pid = parse_number<std::int64_t>(value);
    else if (name == "process")
      decoded.process = value;
    else if (name != "text")  // part of the text that is there whole
      decoded.attributes.emplace_back(name, value);
    if (name == "device") decoded.pci = canonical_pci_address(value).value_or("");
    if (name == "cgroup") add_owner(value, decoded);
  }
  add_facts(facts_, decoded);
  return decoded;
}

void add_facts(const catalog::Catalog& facts, DecodedRecord& decoded) {
  if (!decoded.code) {
    const catalog::LogRule* rule = facts.log_rule(decoded.rule);
    if (rule == nullptr) return;
    decoded.name = rule->title;
    decoded.fault_class = rule->fault_class;
    const catalog::Reason* reason = facts.reason(rule->reason);
    decoded.action = rule->action.value_or(reason == nullptr ? Action::none : reason->action);
    return;
  }
  add_link_down_reason(facts, decoded);
  const DriverAdvice advice = advice_on(facts, decoded);
  decoded.name = advice.name;
  decoded.fault_class = advice.fault_class;
  decoded.action = advice.now;
}

}  // namespace autopilot::checks
