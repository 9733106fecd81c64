// SPDX-License-Identifier: Apache-2.0
// What one answer costs: a node as JSON and as Prometheus text. AUTOPILOT_BENCH_NODE is a file with the JSON
// of GET /v1/node.
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "agent/exporters/metrics.hpp"
#include "api/v1.hpp"

namespace autopilot {
namespace {

std::optional<NodeSnapshot> node(benchmark::State& state) {
  const char* path = std::getenv("AUTOPILOT_BENCH_NODE");
  std::ifstream file(path == nullptr ? "" : path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto parsed = api::parse_node(text);
  if (parsed) return std::move(*parsed);
  state.SkipWithError("AUTOPILOT_BENCH_NODE names no file with the JSON of /v1/node");
  return std::nullopt;
}

void render_node_json(benchmark::State& state) {
  const auto snapshot = node(state);
  if (!snapshot) return;
  std::size_t bytes = 0;
  while (state.KeepRunning())
    bytes = api::to_json(*snapshot).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(render_node_json)->Unit(benchmark::kMillisecond);

void render_metrics(benchmark::State& state) {
  const auto snapshot = node(state);
  if (!snapshot) return;
  std::size_t bytes = 0;
  while (state.KeepRunning())
    bytes = agent::render_snapshot_metrics(*snapshot).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(render_metrics)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace autopilot
