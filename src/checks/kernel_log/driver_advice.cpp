// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/driver_advice.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <string>

#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace {

using catalog::Catalog;
using catalog::NvLinkError;
using catalog::NvLinkRegister;
using catalog::StatusMatch;

constexpr std::string_view kUnknown = "unknown";
constexpr std::string_view kOfProgram = "app";
// A GPU cannot switch away from a program that is stopped after its own exception.
constexpr std::uint32_t kSwitchTimeout = 109;
constexpr Duration kFollows = std::chrono::seconds{30};

std::uint32_t bits(std::uint32_t word, unsigned first, unsigned count) {
  return word >> first & ((std::uint32_t{1} << count) - 1);
}

bool is_worse(Health health, double confidence, Health than, double than_confidence) {
  if (health != than) return static_cast<int>(health) > static_cast<int>(than);
  return confidence > than_confidence;
}

bool has_bits(const NvLinkRegister& meaning, const NvLinkDetail& detail) {
  const auto index = static_cast<std::size_t>(meaning.number) - 1;
  if (index >= detail.registers.size()) return false;
  const auto is_set = [word = detail.registers[index]](int bit) { return (word >> bit & 1U) != 0; };
  return std::ranges::any_of(meaning.bits, is_set);
}

Health health_of(const NvLinkRegister& meaning, const TimesSeen& times) {
  if (meaning.from_times <= 1 || meaning.health != Health::failed) return meaning.health;
  return times && times(meaning) >= meaning.from_times ? Health::failed : Health::degraded;
}

template <class Error>
void take(const Error& error, DriverAdvice& advice) {
  advice.meaning = error.meaning;
  advice.now = error.action_now;
  advice.later = error.action_later;
  advice.health = error.health;
  advice.confidence = error.confidence;
}

// Takes the worst meaning of the set bits. False if no set bit is known.
bool take_worst_register(const Catalog& facts, const NvLinkDetail& detail, const TimesSeen& times,
                         DriverAdvice& advice) {
  const NvLinkRegister* worst = nullptr;
  Health health = Health::healthy;
  for (const NvLinkRegister& meaning : facts.nvlink_registers()) {
    if (!has_bits(meaning, detail)) continue;
    const Health mine = health_of(meaning, times);
    if (worst != nullptr && !is_worse(mine, meaning.confidence, health, worst->confidence)) continue;
    worst = &meaning;
    health = mine;
  }
  if (worst == nullptr) return false;
  take(*worst, advice);
  advice.health = health;
  return true;
}

bool has_number_v1(const NvLinkError& error, std::uint32_t info) {
  return bits(info, 0, 5) == static_cast<std::uint32_t>(error.block_v1) &&
         bits(info, 5, 5) == static_cast<std::uint32_t>(error.unit_v1);
}

bool has_number_v2(const NvLinkError& error, std::uint32_t info) {
  return bits(info, 0, 7) == static_cast<std::uint32_t>(error.unit_v2);
}

// Compares the unit name that the driver prints, or its number if the name is unknown.
bool is_of_unit(const NvLinkError& error, const NvLinkDetail& detail, bool is_name_known) {
  if (is_name_known) return std::ranges::find(error.units, detail.unit) != error.units.end();
  const std::uint32_t info = detail.registers.front();
  return has_number_v1(error, info) || has_number_v2(error, info);
}

bool has_status(const NvLinkError& error, std::uint32_t status) {
  switch (error.match) {
    case StatusMatch::any:
      return true;
    case StatusMatch::reason:
      return false;
    case StatusMatch::value:
      return std::ranges::find(error.status, status) != error.status.end();
    case StatusMatch::bits:
      return std::ranges::any_of(error.status, [status](std::uint32_t bit) { return (status & bit) != 0; });
  }
  return false;
}

// Bits 25:20 of the first register, in both layouts that drivers have used.
int qualifier(const NvLinkDetail& detail) {
  constexpr unsigned kQualifier = 20;
  constexpr unsigned kQualifierBits = 6;
  return static_cast<int>(bits(detail.registers.front(), kQualifier, kQualifierBits));
}

bool is_name_known(const Catalog& facts, std::uint32_t code, const NvLinkDetail& detail) {
  return std::ranges::any_of(facts.nvlink_errors(), [&](const NvLinkError& error) {
    return error.xid == code && std::ranges::find(error.units, detail.unit) != error.units.end();
  });
}

// The entry for lost links of the unit, if the line is about that unit.
const NvLinkError* link_down_error(const Catalog& facts, std::uint32_t code, const NvLinkDetail& detail) {
  if (detail.registers.empty() || !detail.status) return nullptr;
  const bool is_known = is_name_known(facts, code, detail);
  const auto found = std::ranges::find_if(facts.nvlink_errors(), [&](const NvLinkError& error) {
    return error.match == StatusMatch::reason && error.xid == code && is_of_unit(error, detail, is_known);
  });
  return found == facts.nvlink_errors().end() ? nullptr : &*found;
}

const NvLinkError* worst_error(const Catalog& facts, std::uint32_t code, const NvLinkDetail& detail) {
  if (detail.registers.empty() || !detail.status) return nullptr;
  if (qualifier(detail) != 0) return nullptr;
  const bool is_known = is_name_known(facts, code, detail);
  const NvLinkError* worst = nullptr;
  for (const NvLinkError& error : facts.nvlink_errors()) {
    if (error.xid != code || !is_of_unit(error, detail, is_known) || !has_status(error, *detail.status))
      continue;
    if (worst == nullptr || is_worse(error.health, error.confidence, worst->health, worst->confidence))
      worst = &error;
  }
  return worst;
}

bool is_promoted(const NvLinkError& error, std::uint32_t info) {
  constexpr unsigned kPromotedV1 = 10;
  constexpr unsigned kPromotedV2 = 7;
  // No register has the number of the same unit in both layouts.
  if (has_number_v2(error, info) && bits(info, kPromotedV2, 1) != 0) return true;
  return has_number_v1(error, info) && bits(info, kPromotedV1, 1) != 0;
}

void take_fatal(const NvLinkDetail& detail, DriverAdvice& advice) {
  if (detail.severity != "Fatal" || advice.health == Health::failed) return;
  advice.health = Health::failed;
  advice.now = Action::reset_gpu;
}

// Used if the catalog does not know the registers.
void take_severity(const NvLinkDetail& detail, DriverAdvice& advice) {
  if (advice.health == Health::healthy) return;
  if (detail.severity == "Nonfatal") {
    advice.health = Health::degraded;
    advice.now = Action::run_diagnostics;
  }
  take_fatal(detail, advice);
}

void take_link_down(const Catalog& facts, const NvLinkError& link_down, const NvLinkDetail& detail,
                    DriverAdvice& advice) {
  if (const auto* reason = facts.link_down_reason(qualifier(detail))) {
    take(*reason, advice);
  } else {
    take(link_down, advice);
    take_severity(detail, advice);
  }
}

void take_registers(const Catalog& facts, std::uint32_t code, const NvLinkDetail& detail,
                    const TimesSeen& times, DriverAdvice& advice) {
  constexpr std::uint32_t kOldNvLink = 74;
  if (code == kOldNvLink) {
    if (!take_worst_register(facts, detail, times, advice)) take_severity(detail, advice);
  } else if (const NvLinkError* link_down = link_down_error(facts, code, detail)) {
    take_link_down(facts, *link_down, detail, advice);
  } else if (const NvLinkError* error = worst_error(facts, code, detail)) {
    take(*error, advice);
    if (error->promoted && is_promoted(*error, detail.registers.front())) {
      advice.now = *error->promoted;
      advice.health = takes_device_out_of_service(advice.now) ? Health::failed : advice.health;
    }
    take_fatal(detail, advice);
  } else {
    take_severity(detail, advice);
  }
}

std::optional<NvLinkDetail> nvlink_of(const Observation& event) {
  NvLinkDetail detail;
  detail.unit = attribute_of(event, "nvlinkUnit");
  detail.severity = attribute_of(event, "nvlinkSeverity");
  detail.status = parse_hex<std::uint32_t>(attribute_of(event, "nvlinkStatus"));
  const std::string registers = attribute_of(event, "nvlinkRegisters");
  for (const std::string_view word : split_words(registers))
    detail.registers.push_back(parse_hex<std::uint32_t>(word).value_or(0));
  if (detail.registers.empty()) return std::nullopt;
  return detail;
}

// The inverse of to_attributes, for the members that the advice depends on.
DecodedRecord decoded_of(const Observation& event) {
  DecodedRecord decoded;
  decoded.kind = event.name == kSxidEvent ? "sxid" : "xid";
  decoded.code = code_of(event);
  decoded.severity = attribute_of(event, "severity");
  decoded.nvlink = nvlink_of(event);
  decoded.reset_advised = is_true(event, "resetAdvised");
  decoded.drain_reset_advised = is_true(event, "drainResetAdvised");
  decoded.recovery_to = parse_number<int>(attribute_of(event, "recoveryTo"));
  decoded.is_cut = is_true(event, "cut");
  return decoded;
}

// Counts the errors on the link of `event`, including itself, up to `from_times`.
std::int64_t times_on_link(const NvLinkRegister& meaning, const Observation& event,
                           std::span<const Observation* const> earlier) {
  std::int64_t times = event_count(event);
  const auto link = link_of(event);
  if (!link) return times;
  for (const Observation* other : earlier | std::views::reverse) {
    if (times >= meaning.from_times) break;
    if (other == &event || code_of(*other) != code_of(event) || link_of(*other) != link ||
        is_injected(*other) != is_injected(event))
      continue;
    const auto detail = nvlink_of(*other);
    if (detail && has_bits(meaning, *detail)) times += event_count(*other);
  }
  return times;
}

template <class Error>
void take_entry(const Error* entry, DriverAdvice& advice) {
  advice.fault_class = kUnknown;
  advice.meaning = "Not in the catalog.";
  if (entry == nullptr) return;
  take(*entry, advice);
  advice.name = entry->name;
  if (!entry->classes.empty()) advice.fault_class = entry->classes.front();
}

// The missing part may make the error harmless, so nothing is assumed.
void take_cut(DriverAdvice& advice) {
  advice.now = Action::none;
  advice.later = Action::none;
  advice.health = Health::healthy;
}

DriverAdvice advice_on_xid(const Catalog& facts, const DecodedRecord& decoded, const TimesSeen& times) {
  DriverAdvice advice;
  const std::uint32_t code = decoded.code.value_or(0);
  const catalog::Xid* xid = facts.xid(code);
  take_entry(xid, advice);
  if (decoded.is_cut) {
    if (!decoded.nvlink || !take_worst_register(facts, *decoded.nvlink, times, advice)) take_cut(advice);
    return advice;
  }
  if (xid != nullptr && decoded.nvlink) take_registers(facts, code, *decoded.nvlink, times, advice);
  if (decoded.drain_reset_advised == true) advice.now = Action::drain_then_reset_gpu;
  if (decoded.reset_advised == true) advice.now = Action::reset_gpu;
  if (decoded.recovery_to) advice.now = recovery_action(*decoded.recovery_to).value_or(advice.now);
  return advice;
}

DriverAdvice advice_on_sxid(const Catalog& facts, const DecodedRecord& decoded) {
  DriverAdvice advice;
  take_entry(facts.sxid(decoded.code.value_or(0)), advice);
  if (decoded.is_cut) {
    take_cut(advice);
    return advice;
  }
  const std::string_view severity = decoded.severity;
  const bool is_known = advice.fault_class != kUnknown;
  if (severity == "Fatal" && is_known) {
    if (!takes_device_out_of_service(advice.now)) advice.now = Action::drain_then_reset_gpu;
    advice.health = Health::failed;
  } else if (severity == "Fatal" || severity == "Non-fatal") {
    if (advice.now == Action::none || takes_device_out_of_service(advice.now))
      advice.now = Action::run_diagnostics;
    advice.health = Health::degraded;
  } else if (severity == "Correctable") {
    advice.now = Action::none;
    advice.health = Health::healthy;
  }
  return advice;
}

bool may_be_of_one_process(const Observation& a, const Observation& b) {
  const std::string pid = attribute_of(a, "pid");
  const std::string other = attribute_of(b, "pid");
  return pid.empty() || other.empty() || pid == other;
}

// Whether a program caused an error on the same GPU shortly before.
bool follows_fault_of_program(const Catalog& facts, const Observation& event,
                              std::span<const Observation* const> earlier) {
  return std::ranges::any_of(earlier, [&](const Observation* other) {
    if (gpu_of(other->subject) != gpu_of(event.subject) || is_injected(*other) != is_injected(event) ||
        !may_be_of_one_process(*other, event))
      return false;
    const Duration since = event.time.mono - other->time.mono;
    if (since < Duration{0} || since > kFollows) return false;
    const catalog::Xid* xid = facts.xid(code_of(*other));
    return xid != nullptr && !xid->classes.empty() && xid->classes.front() == kOfProgram;
  });
}

}  // namespace

DriverAdvice advice_on(const Catalog& facts, const DecodedRecord& decoded, const TimesSeen& times) {
  if (decoded.kind == "sxid") return advice_on_sxid(facts, decoded);
  return advice_on_xid(facts, decoded, times);
}

std::string reason_of_xid(std::uint32_t code, std::string_view fault_class) {
  return code == kOffBusXid ? "gpu_fallen_off_bus" : "xid_" + std::string(fault_class);
}

DriverAdvice advice_on_event(const Catalog& facts, const Observation& event,
                             std::span<const Observation* const> earlier) {
  DriverAdvice advice = advice_on(facts, decoded_of(event), [&](const NvLinkRegister& meaning) {
    return times_on_link(meaning, event, earlier);
  });
  if (event.name == kXidEvent && code_of(event) == kSwitchTimeout && advice.health == Health::failed &&
      follows_fault_of_program(facts, event, earlier)) {
    advice.fault_class = kOfProgram;
    advice.health = Health::degraded;
  }
  return advice;
}

void add_link_down_reason(const Catalog& facts, DecodedRecord& decoded) {
  if (!decoded.nvlink || !decoded.code) return;
  if (link_down_error(facts, *decoded.code, *decoded.nvlink) != nullptr)
    decoded.nvlink->reason = qualifier(*decoded.nvlink);
}

Subject subject_of_error(const Observation& event, const DriverAdvice& advice) {
  if (event.name == kSxidEvent) return event.subject;
  if (auto link = link_of(event)) return *std::move(link);
  const bool is_whole = takes_device_out_of_service(advice.now) || advice.health == Health::failed;
  return is_whole ? gpu_of(event.subject) : event.subject;
}

}  // namespace autopilot::checks
