// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "collect/evidence/deadline_runner.hpp"
#include "collect/evidence/timed_item.hpp"
#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"
#include "host/host.hpp"

namespace autopilot::collect {

struct CounterTimes {
  Duration apart = std::chrono::seconds{5};  // from the first reading to the second
  Duration part = std::chrono::seconds{3};   // for GPUs, NICs, host or processes, each in each reading
};

inline constexpr std::size_t kMaxCountedProcesses = 64;

// What the node reports of its GPUs, its NICs, itself and the main processes of ranks, at two moments: the
// growth of each counter while the job hangs. JSON of docs/evidence.md. Through the backends that telemetry
// reads (collect/telemetry), with the same calls. Each part that does not answer is stated, and a part that
// hangs costs its deadline once: it is not read again.
[[nodiscard]] CapturedText capture_counters(const std::shared_ptr<const host::Host>& host,
                                            const std::vector<RankProcess>& processes, DeadlineRunner& runner,
                                            const CounterTimes& times);

}  // namespace autopilot::collect
