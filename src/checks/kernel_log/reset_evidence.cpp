// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/reset_evidence.hpp"

#include <algorithm>

#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {
namespace {

constexpr std::int64_t kNoRecoveryNeeded = 0;
// Log rules of the catalog.
constexpr std::string_view kAmdLoadedRule = "gpu.amd_loaded";
constexpr std::string_view kAmdResetRule = "gpu.amd_reset_done";
// Made here alone: no line of a log becomes an event of this name.
constexpr std::string_view kSeenReset = "reset_seen";

}  // namespace

std::optional<SeenReset> reset_in(const Observation& record) {
  if (record.name == kSeenReset) return SeenReset{record.subject, false};
  if (!may_act(record)) return std::nullopt;
  if (record.name == kDriverLoadedEvent || record.name == kAmdLoadedRule)
    return SeenReset{host_subject(), is_injected(record)};
  if (record.name == kAmdResetRule) return SeenReset{record.subject, is_injected(record)};
  if (record.name != kXidEvent) return std::nullopt;
  const Value* to = find_attribute(record.attributes, "recoveryTo");
  if (to == nullptr || *to != Value{kNoRecoveryNeeded}) return std::nullopt;
  return SeenReset{gpu_of(record.subject), is_injected(record)};
}

Observation seen_reset(const Subject& gpu, Instant time) {
  Observation event;
  event.name = kSeenReset;
  event.subject = gpu;
  event.source = "looks at " + to_string(gpu);
  event.time = time;
  event.sequence = static_cast<std::uint64_t>(time.mono.time_since_epoch().count());
  return event;
}

std::vector<Subject> resets_in(const Observations& records) {
  std::vector<Subject> gpus;
  for (const Observation& record : records) {
    const auto seen = reset_in(record);
    if (seen && !seen->injected && std::ranges::find(gpus, seen->gpu) == gpus.end())
      gpus.push_back(seen->gpu);
  }
  return gpus;
}

}  // namespace autopilot::checks
