// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/decode.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "core/parse.hpp"
#include "core/subject.hpp"
#include "host/host.hpp"

namespace autopilot::checks {

namespace {

std::string hexadecimal(std::uint32_t value) {
  std::array<char, 16> text{};
  const int size = std::snprintf(text.data(), text.size(), "0x%08x", value);
  return {text.data(), static_cast<std::size_t>(size)};
}

class Builder {
 public:
  void word(std::string_view name, std::string_view text) {
    if (!text.empty()) attributes_.emplace_back(name, std::string(text));
  }
  template <class T>
  void number(std::string_view name, const std::optional<T>& value) {
    if (value) attributes_.emplace_back(name, std::int64_t{*value});
  }
  void flag(std::string_view name, std::optional<bool> value) {
    if (value) attributes_.emplace_back(name, *value);
  }
  [[nodiscard]] Attributes take() { return std::move(attributes_); }

 private:
  Attributes attributes_;
};

void add_nvlink(const NvLinkDetail& detail, Builder& builder) {
  builder.word("nvlinkUnit", detail.unit);
  builder.word("nvlinkSeverity", detail.severity);
  builder.number("nvlinkLink", detail.link);
  if (detail.status) builder.word("nvlinkStatus", hexadecimal(*detail.status));
  builder.number("nvlinkReason", detail.reason);
  std::string registers;
  for (const auto value : detail.registers)
    registers += (registers.empty() ? "" : " ") + hexadecimal(value);
  builder.word("nvlinkRegisters", registers);
}

}  // namespace

std::optional<Action> recovery_action(int number) {
  // nvmlDeviceGpuRecoveryAction_t.
  constexpr std::array<Action, 6> kActions{Action::none,
                                           Action::reset_gpu,
                                           Action::reboot_node,
                                           Action::drain_p2p,
                                           Action::drain_then_reset_gpu,
                                           Action::recover_imex};
  if (number < 0 || static_cast<std::size_t>(number) >= kActions.size()) return std::nullopt;
  return kActions[static_cast<std::size_t>(number)];
}

Attributes to_attributes(const DecodedRecord& decoded) {
  Builder builder;
  builder.word("kind", decoded.kind);
  builder.word("rule", decoded.rule);
  builder.number("code", decoded.code);
  builder.word("name", decoded.name);
  builder.word("pci", decoded.pci);
  builder.number("gpuInstance", decoded.gpu_instance);
  builder.number("computeInstance", decoded.compute_instance);
  builder.number("pid", decoded.pid);
  builder.word("process", decoded.process);
  builder.word("text", decoded.text);
  builder.number("causedBy", decoded.caused_by);
  if (decoded.nvlink) add_nvlink(*decoded.nvlink, builder);
  builder.word("severity", decoded.severity);
  builder.number("recoveryFrom", decoded.recovery_from);
  builder.number("recoveryTo", decoded.recovery_to);
  if (decoded.recovery_to)
    if (const auto action = recovery_action(*decoded.recovery_to))
      builder.word("recoveryAction", to_string(*action));
  builder.flag("resetAdvised", decoded.reset_advised);
  builder.flag("drainResetAdvised", decoded.drain_reset_advised);
  builder.number("gpc", decoded.gpc);
  builder.number("tpc", decoded.tpc);
  builder.number("sm", decoded.sm);
  for (const auto& [name, value] : decoded.attributes)
    builder.word(name, value);
  if (decoded.is_cut) builder.flag("cut", true);
  if (decoded.is_detail) builder.flag("detail", true);
  builder.word("class", decoded.fault_class);
  if (!decoded.fault_class.empty()) builder.word("action", to_string(decoded.action));
  builder.flag("injected", decoded.injected);
  builder.flag("fromKernel", decoded.from_kernel);
  if (decoded.from_user) builder.flag("fromUser", true);
  builder.number("line", std::optional(static_cast<std::int64_t>(decoded.line)));
  return builder.take();
}

namespace {

catalog::LogPatterns compiled(const std::vector<catalog::LogRule>& rules) {
  auto patterns = catalog::LogPatterns::compile(rules);
  AUTOPILOT_ASSERT(patterns.has_value());  // the readers of rules reject invalid ones
  return *std::move(patterns);
}

// Adds the pod, container or job of the control group, if its path names them.
void add_owner(std::string_view cgroup, DecodedRecord& decoded) {
  const GpuUserOwner owner = host::parse_cgroup_path(cgroup);
  for (const auto& [name, value] : {std::pair("podUid", owner.pod_uid),
                                    std::pair("container", owner.container), std::pair("job", owner.job)})
    if (!value.empty()) decoded.attributes.emplace_back(name, value);
}

}  // namespace

Decoder::Decoder(const catalog::Catalog& facts) : facts_(facts), patterns_(compiled(facts.log_rules())) {}

// Compiling the rules takes longer than matching a day of records. Never destroyed: a run that does not
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
    else if (name != "text")  // `text` already has it
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
