// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/decoded_record.hpp"

#include <array>
#include <cstdio>
#include <string_view>

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

}  // namespace autopilot::checks
