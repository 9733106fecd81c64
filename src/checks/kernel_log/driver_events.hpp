// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/observation.hpp"
#include "host/gpu/gpus.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

// Names of events from the NVIDIA drivers' lines in the kernel log. The value is the code, or the log rule if
// there is none.
inline constexpr std::string_view kXidEvent = "xid";
inline constexpr std::string_view kSxidEvent = "sxid";
inline constexpr std::string_view kOffBusEvent = "off_bus";
inline constexpr std::string_view kInitFailedEvent = "init_failed";
// A line whose finding has the reason of its log rule in the catalog.
inline constexpr std::string_view kTroubleEvent = "driver_trouble";
inline constexpr std::string_view kDriverLoadedEvent = "driver_loaded";

// Source of events that the driver's library reports.
inline constexpr std::string_view kNvmlEvents = "nvml events";

// The number of an Xid or SXid; 0 if the event has none.
[[nodiscard]] std::uint32_t code_of(const Observation& event);
// The GPU of an instance or a link; other subjects are returned unchanged.
[[nodiscard]] Subject gpu_of(const Subject& subject);

struct DriverEvents {
  static constexpr std::size_t kMaxKinds = 512;
  // Number of kinds beyond kMaxKinds for each code that the catalog knows, so that a flood of one code does
  // not hide others.
  static constexpr std::size_t kKeptOfCode = 4;
  static constexpr std::size_t kMaxProcesses = 4;  // processes with the same error that are kept separate

  Observations events;      // oldest first
  std::size_t dropped = 0;  // records of kinds beyond the limits
};

// Of equal records (same event, subject, link, code, cause, recovery action, process and writer) only the
// first and the last are kept. Processes beyond kMaxProcesses, or beyond half of kMaxKinds, count as one.
// Attribute "count" of the last is the number of records it represents. So a storm stays small, and
// consequences do not displace their cause. Records below `counted` (see Request::kernel_log_counted) are
// collected separately and never count as dropped.
[[nodiscard]] DriverEvents collect_driver_events(const host::KernelRecords& records,
                                                 std::uint64_t counted = 0);

[[nodiscard]] Observation to_observation(const host::GpuEvent& event);

// True if both describe one error: a kernel log record about the same GPU with the same code, at most five
// seconds before the library's event can have happened, or after it was received.
[[nodiscard]] bool is_same_error(const Observation& record, const Observation& library_event);
// `news` without the library's events that a record in `news` or `earlier` also describes, so that each error
// counts once.
[[nodiscard]] Observations joined(Observations news, const std::deque<Observation>& earlier);

// The link that the line of an event about a GPU names.
[[nodiscard]] std::optional<Subject> link_of(const Observation& event);

// The text of a record as evidence: at most 500 bytes, not cut within a UTF-8 character.
[[nodiscard]] std::string line_of(std::string_view text);

// The same program error in the same place of one GPU, in different processes: the program changed, the fault
// remained. The catalog defines the place of each error (Xid::recurs_at).
struct RepeatedFault {
  Subject gpu;
  std::uint32_t code = 0;
  // The unit that the line names; nullopt if the place is the GPU.
  std::optional<int> gpc;
  std::optional<int> tpc;
  bool injected = false;
  std::map<std::string, std::string> processes;  // at least two: pid -> a name of it
  const Observation* second = nullptr;           // the first fault in another process
  const Observation* last = nullptr;

  // "4711 (python3), 5822 (serve)"; beyond eight only their number.
  [[nodiscard]] std::string named() const;
};

// `records`: Xid events that may act, oldest first; the result points into them. Excluded:
// - faults that follow the program: the same process had the error on another GPU, or a process with the same
// name within 30 s, since a job has one process for each GPU and starts them under one name;
// - faults within 30 s after a hardware error of the same GPU, because they are its consequences.
// A process is identified by its pid, since the records are from one boot: its threads have other names, and
// two processes may have the same name.
[[nodiscard]] std::vector<RepeatedFault> repeated_faults(const catalog::Catalog& facts,
                                                         std::span<const Observation* const> records);

}  // namespace autopilot::checks
