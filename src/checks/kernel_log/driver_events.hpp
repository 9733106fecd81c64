// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "core/observation.hpp"
#include "host/gpu/gpus.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

// Names of the events that the NVIDIA drivers leave in the kernel log, each with the code as value or, where
// there is none, the rule.
inline constexpr std::string_view kXidEvent = "xid";
inline constexpr std::string_view kSxidEvent = "sxid";
inline constexpr std::string_view kOffBusEvent = "off_bus";
inline constexpr std::string_view kInitFailedEvent = "init_failed";
// A line that says all that is to be said, with the reason that its rule has in the catalog.
inline constexpr std::string_view kTroubleEvent = "driver_trouble";
inline constexpr std::string_view kDriverLoadedEvent = "driver_loaded";

// Source of the events that the driver's library tells.
inline constexpr std::string_view kNvmlEvents = "nvml events";

// The number of an Xid or SXid; 0 where the event has none.
[[nodiscard]] std::uint32_t code_of(const Observation& event);
// The GPU that an instance or a link belongs to; anything else as it is.
[[nodiscard]] Subject gpu_of(const Subject& subject);

struct DriverEvents {
  static constexpr std::size_t kMaxKinds = 512;
  // Of codes that the catalog knows so many kinds have room beyond kMaxKinds: no flood of one hides another.
  static constexpr std::size_t kKeptOfCode = 4;
  static constexpr std::size_t kMaxProcesses = 4;  // with the same error that are told apart

  Observations events;      // oldest first
  std::size_t dropped = 0;  // records of further kinds
};

// Records that say the same (same event, subject, link, code, cause, verdict, process and writer) become the
// first and the last of them; processes beyond kMaxProcesses, or beyond half of kMaxKinds, are as one; the
// last has how many it stands for as attribute "count". So a storm stays small, and no cause is pushed out by
// its consequences. Records below `counted` (see Request::kernel_log_counted) are collected apart from the
// others, and nothing of them counts as dropped.
[[nodiscard]] DriverEvents collect_driver_events(const host::KernelRecords& records,
                                                 std::uint64_t counted = 0);

[[nodiscard]] Observation to_observation(const host::GpuEvent& event);

// THE rule for two witnesses of one error: a record of the kernel log about the same GPU with the same code,
// not more than five seconds before the library's event can have happened or after it was heard.
[[nodiscard]] bool tells_the_same(const Observation& record, const Observation& library_event);
// `news` without the library's events that a record tells, among them or among `earlier` ones: each error is
// counted once.
[[nodiscard]] Observations joined(Observations news, const std::deque<Observation>& earlier);

// The link that the line names, of an event about a GPU.
[[nodiscard]] std::optional<Subject> link_of(const Observation& event);

// The text of a record as evidence: at most 500 bytes, never cut in the middle of a UTF-8 character.
[[nodiscard]] std::string line_of(std::string_view text);

}  // namespace autopilot::checks
