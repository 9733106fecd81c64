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

// What the catalog says about one error of a driver. Views into the catalog.
struct DriverAdvice {
  std::string_view name;         // empty for a code that the catalog does not know
  std::string_view fault_class;  // "unknown" likewise
  std::string_view meaning;
  Action now = Action::none;
  Action later = Action::none;
  Health health = Health::healthy;   // of a finding; healthy: an event only
  std::optional<double> confidence;  // that the subject is at fault; nothing for a code that it does not know
};

// How often bits of a register of Xid 74 were seen on the link of the line, with the line itself.
using TimesSeen = std::function<std::int64_t(const catalog::NvLinkRegister&)>;

// Of an Xid or SXid: THE rule for what to do about it, for every reader. What the line says outranks the
// table:
// - the registers of an NVLink error (74, 144 to 150) where the catalog knows them;
// - "Fatal" of 144 to 150 where the catalog knows nothing of the registers, or only what is milder;
// - the severity of an SXid; but "Fatal" of a code that nobody knows asks for a look, no more;
// - RST and D-RST. RST is the stronger one: the GPU is of no use until it is reset, and nothing is gained by
//   waiting for its work. D-RST lets the work end first;
// - the verdict of Xid 154.
// A line that is cut before these says only what is left of its registers.
// Without `times` each error is the first one on its link.
[[nodiscard]] DriverAdvice advice_on(const catalog::Catalog& facts, const DecodedRecord& decoded,
                                     const TimesSeen& times = {});

// Of an event named kXidEvent or kSxidEvent. `told`: what the driver told up to now, oldest first. Xid 109
// within 30 s of an error that programs make, on the same GPU and not of another process, follows from it: of
// class app, and degraded.
[[nodiscard]] DriverAdvice advice_on_event(const catalog::Catalog& facts, const Observation& event,
                                           std::span<const Observation* const> told = {});

// Sets nvlink->reason of a record whose unit, by its name or its number, tells that a link went down.
void add_link_down_reason(const catalog::Catalog& facts, DecodedRecord& decoded);

// "fallen off the bus": the driver also tells it in lines without the number.
inline constexpr std::uint32_t kOffBusXid = 79;
// The reason of the findings that such an Xid makes.
[[nodiscard]] std::string reason_of_xid(std::uint32_t code, std::string_view fault_class);
inline constexpr std::string_view kReasonOfSxids = "xid_nvlink";

// What a finding of such an event is about: the link that its line names, the whole GPU where the error takes
// all of it along, else the subject of the event.
[[nodiscard]] Subject subject_of_error(const Observation& event, const DriverAdvice& advice);

}  // namespace autopilot::checks
