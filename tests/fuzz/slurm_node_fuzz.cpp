// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/slurm/node_fitness.hpp"
#include "cli/slurm/slurm_node.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::slurm_node_fuzz {

// What scontrol prints: a node that is read has a state and a printable reason, and a node with a reason that
// is not ours is never drained again or resumed.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto node = cli::parse_slurm_node(text, "n2");
  if (!node) return 0;
  AUTOPILOT_ASSERT(node->name == "n2" && !node->states.empty() && is_printable(node->reason));
  const auto step = [&](cli::Fitness fitness) {
    return cli::decide({.fitness = fitness, .reason = "gpu_lost", .id = "1"}, *node, true).step;
  };
  AUTOPILOT_ASSERT(step(cli::Fitness::unknown) == cli::SlurmStep::none);
  if (!node->has_own_reason()) AUTOPILOT_ASSERT(step(cli::Fitness::fit) == cli::SlurmStep::none);
  if (node->is_unavailable()) AUTOPILOT_ASSERT(step(cli::Fitness::unfit) == cli::SlurmStep::none);
  return 0;
}

}  // namespace autopilot::slurm_node_fuzz
