// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "api/v1.hpp"

namespace autopilot {

// Of the file AUTOPILOT_BENCH_NODE, which has the JSON of GET /v1/node; nothing, and why, where it has not.
[[nodiscard]] inline std::optional<NodeSnapshot> bench_node(benchmark::State& state) {
  const char* path = std::getenv("AUTOPILOT_BENCH_NODE");
  std::ifstream file(path == nullptr ? "" : path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto parsed = api::parse_node(text);
  if (parsed) return std::move(*parsed);
  state.SkipWithError("AUTOPILOT_BENCH_NODE names no file with the JSON of /v1/node");
  return std::nullopt;
}

}  // namespace autopilot
