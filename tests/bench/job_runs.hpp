// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "job_tally.hpp"
#include "simulator/jobs/scenario.hpp"

namespace autopilot::jobs::bench {

struct RunPlan {
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 1;
  simulated_jobs::ScenarioOptions options;
  // Adds all confounders to the drawn ones, except missing columns, and two jobs on one node: the drawn ones
  // of these stay. `is_mixed`: for odd seeds.
  bool has_all_confounders = false;
  bool is_mixed = false;
  std::vector<std::string> methods;
};

struct Measured {
  std::vector<std::pair<std::string, Tally>> methods;
  // False accusations by the first method in runs whose job has pipeline stages with unequal work or
  // sequences of unequal length.
  std::uint64_t unequal_accusations = 0;
  double unequal_node_days = 0;
  double cpu_s = 0, wall_s = 0;  // of all, with the generator
};

// All methods read the same records. malformed: an option of the scenario is out of range.
[[nodiscard]] Result<Measured> run_all(const RunPlan& plan);

// Many healthy jobs at once, of equal size, with all sources of progress in turn.
struct ScalePlan {
  int nodes = 0;
  int jobs = 1;
  int minutes = 30;
  bool has_receiver = false;  // batches of all nodes go through the controller's receiver
};

struct ScaleCost {
  std::uint64_t records = 0;
  std::size_t findings = 0;
  double cpu_s = 0;       // of the engine
  double most_cpu_s = 0;  // of the engine, in one minute
  double heap_bytes = 0;  // what the engine holds at the end
};

[[nodiscard]] ScaleCost run_scale(const ScalePlan& plan);

[[nodiscard]] simulated_jobs::Scenario make_large(const ScalePlan& plan);
// What is allocated now.
[[nodiscard]] double heap_bytes();

}  // namespace autopilot::jobs::bench
