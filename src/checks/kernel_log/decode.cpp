// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/decode.hpp"

#include <algorithm>
#include <re2/re2.h>
#include <re2/set.h>
#include <string>
#include <utility>
#include <vector>

#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::checks {
namespace {

RE2::Options options() {
  RE2::Options made;
  made.set_encoding(RE2::Options::EncodingLatin1);  // log text is matched byte by byte
  made.set_log_errors(false);
  made.set_dot_nl(true);
  return made;
}

}  // namespace

struct Decoder::Rules {
  // The set says in one pass over the text which rules match; most records match none.
  RE2::Set set{options(), RE2::UNANCHORED};
  std::vector<std::unique_ptr<const RE2>> patterns;
  std::vector<const catalog::LogRule*> rules;
};

Decoder::Decoder(const catalog::Catalog& facts) : facts_(facts) {
  auto rules = std::make_unique<Rules>();
  for (const auto& rule : facts.log_rules()) {
    auto pattern = std::make_unique<const RE2>(rule.pattern, options());
    AUTOPILOT_ASSERT(pattern->ok());  // the catalog's reader refuses others
    rules->set.Add(rule.pattern, nullptr);
    rules->patterns.push_back(std::move(pattern));
    rules->rules.push_back(&rule);
  }
  AUTOPILOT_ASSERT(rules->set.Compile());
  rules_ = std::move(rules);
}

Decoder::~Decoder() = default;

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
  if (rules_->rules.empty()) return std::nullopt;
  std::vector<int> matches;
  if (!rules_->set.Match(record.text, &matches) || matches.empty()) return std::nullopt;
  const auto first = static_cast<std::size_t>(*std::min_element(matches.begin(), matches.end()));
  const catalog::LogRule& rule = *rules_->rules[first];
  const RE2& pattern = *rules_->patterns[first];

  DecodedRecord decoded;
  decoded.kind = rule.kind;
  decoded.rule = rule.id;
  decoded.text = record.text;
  decoded.injected = record.injected;
  decoded.from_kernel = record.from_kernel();
  decoded.line = record.sequence;
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(pattern.NumberOfCapturingGroups()) + 1);
  pattern.Match(record.text, 0, record.text.size(), RE2::UNANCHORED, groups.data(),
                static_cast<int>(groups.size()));
  for (const auto& [index, name] : pattern.CapturingGroupNames()) {
    const auto& group = groups[static_cast<std::size_t>(index)];
    if (group.data() == nullptr) continue;
    const std::string_view value(group.data(), group.size());
    if (name == "pid")
      decoded.pid = parse_number<std::int64_t>(value);
    else if (name == "process")
      decoded.process = value;
    else if (name != "text")  // part of the text that is there whole
      decoded.attributes.emplace_back(name, value);
    if (name == "device") decoded.pci = canonical_pci_address(value).value_or("");
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
