// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

// The catalog's entry for one error of a driver. Views into the catalog.
struct DriverAdvice {
  std::string_view name;         // empty for an unknown code
  std::string_view fault_class;  // "unknown" for an unknown code
  std::string_view meaning;
  Action now = Action::none;
  Action later = Action::none;
  Health health = Health::healthy;   // health of the finding; healthy: only an event
  std::optional<double> confidence;  // probability that the subject is at fault; nullopt for an unknown code
};

// Number of times that bits of a register of Xid 74 were set on the link of the line, including the line
// itself.
using TimesSeen = std::function<std::int64_t(const catalog::NvLinkRegister&)>;

// The advice for an Xid or SXid, used by all readers. The line takes precedence over the catalog entry of the
// code:
// - the registers of an NVLink error (74, 144 to 150), if the catalog knows them;
// - "Fatal" of 144 to 150, if the catalog does not know the registers or rates them lower;
// - the severity of an SXid; "Fatal" of an unknown code only asks for diagnostics;
// - RST and D-RST. RST is stronger: the GPU cannot be used until its reset, so waiting for its work has no
// use. D-RST lets the work end first;
// - the recovery action of Xid 154.
// Of a line that is cut before these values only the remaining registers count. Without `times` each error
// counts as the first one on its link.
[[nodiscard]] DriverAdvice advice_on(const catalog::Catalog& facts, const DecodedRecord& decoded,
                                     const TimesSeen& times = {});

// For an event named kXidEvent or kSxidEvent. `earlier`: the driver's events so far, oldest first. Xid 109
// within 30 s of an error by a program, on the same GPU and not of another process, is its consequence: class
// app, and degraded.
[[nodiscard]] DriverAdvice advice_on_event(const catalog::Catalog& facts, const Observation& event,
                                           std::span<const Observation* const> earlier = {});

// Sets nvlink->reason of a record whose unit, by name or number, reports a lost link.
void add_link_down_reason(const catalog::Catalog& facts, DecodedRecord& decoded);

// "fallen off the bus": the driver also logs it without the number.
inline constexpr std::uint32_t kOffBusXid = 79;
// Reason of the findings of such an Xid.
[[nodiscard]] std::string reason_of_xid(std::uint32_t code, std::string_view fault_class);
inline constexpr std::string_view kReasonOfSxids = "xid_nvlink";

// Subject of the finding of such an event: the link that the line names; the GPU, if the error affects all of
// it; else the subject of the event.
[[nodiscard]] Subject subject_of_error(const Observation& event, const DriverAdvice& advice);

}  // namespace autopilot::checks
