// SPDX-License-Identifier: Apache-2.0
// What a round of pings of a thousand addresses costs: they are addresses of this machine itself, whose
// kernel answers at once and counts that work, too, for the process that asks.
#include <benchmark/benchmark.h>
#include <chrono>
#include <string>
#include <vector>

#include "host/files/fd.hpp"
#include "nettest/echo/ping_helper.hpp"

namespace autopilot {
namespace {

nettest::EchoPlan a_thousand_addresses() {
  nettest::EchoPlan plan;
  for (int i = 0; i < 1000; ++i)
    plan.addresses.push_back("127.1." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250));
  return plan;
}

void ping_a_thousand_addresses(benchmark::State& state) {
  const nettest::EchoPlan plan = a_thousand_addresses();
  std::size_t unanswered = 0;
  while (state.KeepRunning()) {
    const auto echoes = nettest::ask_peers(plan, host::mono_now() + std::chrono::seconds{30});
    if (!echoes) return state.SkipWithError(echoes.error().what.c_str());
    for (const nettest::PeerEcho& echo : *echoes)
      if (echo.figures.answered < echo.figures.sent) ++unanswered;
  }
  state.counters["unanswered"] = static_cast<double>(unanswered);
}

BENCHMARK(ping_a_thousand_addresses)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(3);

}  // namespace
}  // namespace autopilot
