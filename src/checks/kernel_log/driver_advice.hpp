// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decoded_record.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

// What the catalog says about one error of a driver. Views into the catalog.
struct DriverAdvice {
  std::string_view name;         // empty for a code that the catalog does not know
  std::string_view fault_class;  // "unknown" likewise
  std::string_view meaning;
  Action now = Action::none;
  Action later = Action::none;
  Health health = Health::healthy;  // of a finding; healthy: an event only
};

// For an NVLink error (74, 144 to 150) by what its registers say, where the catalog knows that; otherwise by
// the code, and by the driver's own word for its severity. `nvlink` may be null. The driver's own verdict
// (Xid 154) outranks it; that is the caller's.
[[nodiscard]] DriverAdvice advice_on_xid(const catalog::Catalog& facts, std::uint32_t code,
                                         const NvLinkDetail* nvlink);

// `severity` is the word of the line: it outranks the table. Empty: the table decides.
[[nodiscard]] DriverAdvice advice_on_sxid(const catalog::Catalog& facts, std::uint32_t code,
                                          std::string_view severity);

// The reason of the findings that such an Xid makes.
[[nodiscard]] std::string reason_of_xid(std::uint32_t code, std::string_view fault_class);
inline constexpr std::string_view kReasonOfSxids = "xid_nvlink";

// Of an event named kXidEvent or kSxidEvent.
[[nodiscard]] DriverAdvice advice_on_event(const catalog::Catalog& facts, const Observation& event);

}  // namespace autopilot::checks
