// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/driver_advice.hpp"

#include <algorithm>
#include <string>

#include "checks/kernel_log/driver_events.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace {

using catalog::Catalog;
using catalog::NvLinkError;
using catalog::StatusMatch;

constexpr std::string_view kUnknown = "unknown";

std::uint32_t bits(std::uint32_t word, unsigned first, unsigned count) {
  return word >> first & ((std::uint32_t{1} << count) - 1);
}

bool is_worse(Health health, double confidence, Health than, double than_confidence) {
  if (health != than) return static_cast<int>(health) > static_cast<int>(than);
  return confidence > than_confidence;
}

// The worst of what the set bits mean.
const catalog::NvLinkRegister* worst_register(const Catalog& facts, const NvLinkDetail& detail) {
  const catalog::NvLinkRegister* worst = nullptr;
  for (const auto& meaning : facts.nvlink_registers()) {
    const auto index = static_cast<std::size_t>(meaning.number) - 1;
    if (index >= detail.registers.size()) continue;
    const auto is_set = [word = detail.registers[index]](int bit) { return (word >> bit & 1U) != 0; };
    if (!std::ranges::any_of(meaning.bits, is_set)) continue;
    if (worst == nullptr || is_worse(meaning.health, meaning.confidence, worst->health, worst->confidence))
      worst = &meaning;
  }
  return worst;
}

bool has_number_v1(const NvLinkError& error, std::uint32_t info) {
  return bits(info, 0, 5) == static_cast<std::uint32_t>(error.block_v1) &&
         bits(info, 5, 5) == static_cast<std::uint32_t>(error.unit_v1);
}

bool has_number_v2(const NvLinkError& error, std::uint32_t info) {
  return bits(info, 0, 7) == static_cast<std::uint32_t>(error.unit_v2);
}

// The name that the driver prints counts; its number does where the name is a new one.
bool is_of_unit(const NvLinkError& error, const NvLinkDetail& detail, bool is_name_known) {
  if (is_name_known) return std::ranges::find(error.units, detail.unit) != error.units.end();
  const std::uint32_t info = detail.registers.front();
  return has_number_v1(error, info) || has_number_v2(error, info);
}

bool has_status(const NvLinkError& error, std::uint32_t status) {
  switch (error.match) {
    case StatusMatch::any:
      return true;
    case StatusMatch::value:
      return std::ranges::find(error.status, status) != error.status.end();
    case StatusMatch::bits:
      return std::ranges::any_of(error.status, [status](std::uint32_t bit) { return (status & bit) != 0; });
  }
  return false;
}

const NvLinkError* worst_error(const Catalog& facts, std::uint32_t code, const NvLinkDetail& detail) {
  constexpr unsigned kQualifier = 20;
  constexpr unsigned kQualifierBits = 6;
  if (detail.registers.empty() || !detail.status) return nullptr;
  if (bits(detail.registers.front(), kQualifier, kQualifierBits) != 0) return nullptr;
  const bool is_name_known = std::ranges::any_of(facts.nvlink_errors(), [&](const NvLinkError& error) {
    return error.xid == code && std::ranges::find(error.units, detail.unit) != error.units.end();
  });
  const NvLinkError* worst = nullptr;
  for (const NvLinkError& error : facts.nvlink_errors()) {
    if (error.xid != code || !is_of_unit(error, detail, is_name_known) || !has_status(error, *detail.status))
      continue;
    if (worst == nullptr || is_worse(error.health, error.confidence, worst->health, worst->confidence))
      worst = &error;
  }
  return worst;
}

bool is_promoted(const NvLinkError& error, std::uint32_t info) {
  constexpr unsigned kPromotedV1 = 10;
  constexpr unsigned kPromotedV2 = 7;
  // No word has the number of the same unit in both layouts.
  if (has_number_v2(error, info) && bits(info, kPromotedV2, 1) != 0) return true;
  return has_number_v1(error, info) && bits(info, kPromotedV1, 1) != 0;
}

template <class Error>
void take(const Error& error, DriverAdvice& advice) {
  advice.meaning = error.meaning;
  advice.now = error.action_now;
  advice.later = error.action_later;
  advice.health = error.health;
}

// False where the tables are silent.
bool take_registers(const Catalog& facts, std::uint32_t code, const NvLinkDetail& detail,
                    DriverAdvice& advice) {
  constexpr std::uint32_t kOldNvLink = 74;
  if (code == kOldNvLink) {
    const auto* meaning = worst_register(facts, detail);
    if (meaning != nullptr) take(*meaning, advice);
    return meaning != nullptr;
  }
  if (detail.reason) {
    const auto* reason = facts.link_down_reason(*detail.reason);
    if (reason != nullptr) take(*reason, advice);
    return reason != nullptr;
  }
  const NvLinkError* error = worst_error(facts, code, detail);
  if (error == nullptr) return false;
  take(*error, advice);
  if (!error->promoted || !is_promoted(*error, detail.registers.front())) return true;
  advice.now = *error->promoted;
  advice.health = takes_device_out_of_service(advice.now) ? Health::failed : advice.health;
  return true;
}

void take_severity(const NvLinkDetail& detail, DriverAdvice& advice) {
  if (advice.health == Health::healthy) return;
  if (detail.severity == "Nonfatal") {
    advice.health = Health::degraded;
    advice.now = Action::run_diagnostics;
  } else if (detail.severity == "Fatal" && advice.health != Health::failed) {
    advice.health = Health::failed;
    advice.now = Action::reset_gpu;
  }
}

std::string word_of(const Observation& event, std::string_view name) {
  const Value* value = find_attribute(event.attributes, name);
  return value == nullptr ? std::string{} : to_string(*value);
}

// The opposite of to_attributes, for what the advice depends on.
std::optional<NvLinkDetail> nvlink_of(const Observation& event) {
  NvLinkDetail detail;
  detail.unit = word_of(event, "nvlinkUnit");
  detail.severity = word_of(event, "nvlinkSeverity");
  detail.reason = parse_number<int>(word_of(event, "nvlinkReason"));
  detail.status = parse_hex<std::uint32_t>(word_of(event, "nvlinkStatus"));
  const std::string registers = word_of(event, "nvlinkRegisters");
  for (const std::string_view word : split_words(registers))
    detail.registers.push_back(parse_hex<std::uint32_t>(word).value_or(0));
  if (detail.registers.empty()) return std::nullopt;
  return detail;
}

}  // namespace

DriverAdvice advice_on_xid(const Catalog& facts, std::uint32_t code, const NvLinkDetail* nvlink) {
  DriverAdvice advice;
  advice.fault_class = kUnknown;
  advice.meaning = "not in the catalog";
  const catalog::Xid* xid = facts.xid(code);
  if (xid == nullptr) return advice;
  take(*xid, advice);
  advice.name = xid->name;
  if (!xid->classes.empty()) advice.fault_class = xid->classes.front();
  if (nvlink != nullptr && !take_registers(facts, code, *nvlink, advice)) take_severity(*nvlink, advice);
  return advice;
}

DriverAdvice advice_on_sxid(const Catalog& facts, std::uint32_t code, std::string_view severity) {
  DriverAdvice advice;
  advice.fault_class = kUnknown;
  advice.meaning = "not in the catalog";
  if (const catalog::Sxid* sxid = facts.sxid(code)) {
    take(*sxid, advice);
    advice.name = sxid->name;
    if (!sxid->classes.empty()) advice.fault_class = sxid->classes.front();
  }
  if (severity == "Fatal") {
    if (!takes_device_out_of_service(advice.now)) advice.now = Action::drain_then_reset_gpu;
    advice.health = Health::failed;
  } else if (severity == "Non-fatal") {
    if (advice.now == Action::none || takes_device_out_of_service(advice.now))
      advice.now = Action::run_diagnostics;
    advice.health = Health::degraded;
  } else if (severity == "Correctable") {
    advice.now = Action::none;
    advice.health = Health::healthy;
  }
  return advice;
}

std::string reason_of_xid(std::uint32_t code, std::string_view fault_class) {
  constexpr std::uint32_t kOffBus = 79;
  return code == kOffBus ? "gpu_fallen_off_bus" : "xid_" + std::string(fault_class);
}

DriverAdvice advice_on_event(const Catalog& facts, const Observation& event) {
  const std::uint32_t code = code_of(event);
  if (event.name == kSxidEvent) return advice_on_sxid(facts, code, word_of(event, "severity"));
  const auto nvlink = nvlink_of(event);
  return advice_on_xid(facts, code, nvlink ? &*nvlink : nullptr);
}

}  // namespace autopilot::checks
