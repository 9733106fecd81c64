// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/counters.hpp"

#include <span>
#include <string>
#include <vector>

#include "collect/evidence/counter_json.hpp"
#include "collect/evidence/counter_reading.hpp"
#include "host/files/fd.hpp"

namespace autopilot::collect {

CapturedText capture_counters(const std::shared_ptr<const host::Host>& host,
                              const std::vector<RankProcess>& processes, DeadlineRunner& runner,
                              const CounterTimes& times) {
  BothReadings readings;
  const MonoTime second = host::mono_now() + times.apart;
  readings[0] = read_counters(host, processes, runner, times.part, nullptr);
  (void)host::poll_until(std::span<pollfd>(), second);
  readings[1] = read_counters(host, processes, runner, times.part, readings.data());
  const std::vector<std::string> missing = missing_parts(readings);
  CapturedText captured{.text = counters_json(readings, missing), .problem = {}};
  for (const std::string& line : missing)
    captured.problem += (captured.problem.empty() ? "" : "; ") + line;
  return captured;
}

}  // namespace autopilot::collect
