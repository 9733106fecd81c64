// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/slurm/slurm_node.hpp"
#include "core/snapshot.hpp"

// Whether a node must not run jobs, and what follows from it for Slurm. Pure.
namespace autopilot::cli {

// unfit: the node must not run jobs, verdict EVICT. fit: the verdict is PASS or WARN, and each required check
// ran. unknown: anything else; it drains and resumes nothing.
enum class Fitness : std::uint8_t { fit, unfit, unknown };
[[nodiscard]] std::string_view to_string(Fitness fitness);

struct NodeFitness {
  Fitness fitness = Fitness::unknown;
  std::string node;
  std::string verdict;  // "PASS", "WARN", "EVICT", "TESTING"; empty: none
  std::string reason;   // of an unfit node: key of the catalog
  std::string id;       // of the incident, else of the check
  std::string why;      // one sentence without a full stop
  bool is_simulated = false;
};

[[nodiscard]] NodeFitness fitness_of(const NodeSnapshot& snapshot);
// Why nothing is known.
[[nodiscard]] NodeFitness unknown_fitness(std::string why);

// "autopilot: gpu_lost 0123abcd-12"
[[nodiscard]] std::string drain_reason(const NodeFitness& fitness);

enum class SlurmStep : std::uint8_t { none, drain, resume };
[[nodiscard]] std::string_view to_string(SlurmStep step);

struct SlurmDecision {
  SlurmStep step = SlurmStep::none;
  std::string why;  // a clause for the line of the verb
};

// An unfit node is drained unless it is unavailable already: a reason of a person is never replaced. A fit
// node that is only drained, with a reason of ours, is resumed. may_resume: false for a verb that only
// drains.
[[nodiscard]] SlurmDecision decide(const NodeFitness& fitness, const SlurmNode& node, bool may_resume);

}  // namespace autopilot::cli
