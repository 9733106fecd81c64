// SPDX-License-Identifier: Apache-2.0
// What one answer costs: a node as JSON and as Prometheus text. AUTOPILOT_BENCH_NODE is a file with the JSON
// of GET /v1/node.
#include <benchmark/benchmark.h>
#include <cstddef>

#include "agent/metrics.hpp"
#include "api/v1.hpp"
#include "bench_node.hpp"

namespace autopilot {
namespace {

void render_node_json(benchmark::State& state) {
  const auto snapshot = bench_node(state);
  if (!snapshot) return;
  std::size_t bytes = 0;
  while (state.KeepRunning())
    bytes = api::to_json(*snapshot).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(render_node_json)->Unit(benchmark::kMillisecond);

void render_metrics(benchmark::State& state) {
  const auto snapshot = bench_node(state);
  if (!snapshot) return;
  std::size_t bytes = 0;
  while (state.KeepRunning())
    bytes = agent::render_snapshot_metrics(*snapshot).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(render_metrics)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace autopilot
