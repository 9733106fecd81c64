// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/evidence/counters.hpp"
#include "collect/telemetry/device_readings.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/gpu/telemetry.hpp"
#include "host/telemetry/host_counters.hpp"

// The values that counters.json has, at two moments.
namespace autopilot::collect {

struct HostReading {
  host::HostCounters counters;
  std::optional<std::uint64_t> runnable_threads;
};

struct ProcessReading {
  int rank = 0;
  std::int64_t pid = 0;
  std::optional<host::TaskState> task;  // empty: the process has ended
  std::optional<host::TaskIo> io;
  std::string waits_in;  // empty: it runs, or the agent lacks the permission
};

// At one moment; a part that did not answer is an error.
struct CounterReading {
  WallTime time{};
  Result<host::GpuTelemetry> gpus = fail(Errc::unavailable, "not read");
  Result<DeviceReadings> nics = fail(Errc::unavailable, "not read");
  Result<HostReading> host = fail(Errc::unavailable, "not read");
  Result<std::vector<ProcessReading>> processes = fail(Errc::unavailable, "not read");
};

using BothReadings = std::array<CounterReading, 2>;

// Each part takes at most `part`; a part that hung in the reading `before` (nullptr: no earlier one) is not
// read again.
[[nodiscard]] CounterReading read_counters(const std::shared_ptr<const host::Host>& host,
                                           const std::vector<RankProcess>& processes, DeadlineRunner& runner,
                                           Duration part, const CounterReading* before);

// One line for each part that did not answer, and why.
[[nodiscard]] std::vector<std::string> missing_parts(const BothReadings& readings);

}  // namespace autopilot::collect
