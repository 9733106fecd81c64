// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/subject.hpp"
#include "learning/records.hpp"

// What a node validates when a job ends. Pure.
namespace autopilot::postflight {

// What the operator allows when a job ends: nothing, passive checks, or diagnostics on idle GPUs as well.
enum class Allowed : std::uint8_t { off, passive, quick };

// What is known about a job that ended. Unknown is the default of each member.
struct JobFacts {
  learning::JobOutcome outcome = learning::JobOutcome::unknown;
  std::string failure;            // key of the typed failure; empty or "unclear": no cause is known
  std::string failure_text;       // one sentence
  bool suspects_node = false;     // in-flight monitoring suspected a part of this node
  bool suspects_network = false;  // a NIC of the job, or a switch
  // Nodes of the job with an agent, in ascending order, at most 64: they can be tested in pairs.
  std::vector<std::string> pair_nodes = {};
};

struct PlanInput {
  Allowed allowed = Allowed::passive;
  JobFacts job;
  std::vector<Subject> held;      // GPUs that the job held
  std::vector<Subject> idle;      // of `held`
  std::string busy;               // why a GPU of `held` is not idle, in a sentence; empty: all are idle
  bool is_driver_silent = false;  // NVIDIA's driver does not answer
  std::string wanted_by;          // the next job, or a test of the gate, that waits for GPUs; empty: none
  // Age of the oldest pass record that counts: of each quick diagnostic on each GPU of `held`, the newest.
  // nullopt: one is missing.
  std::optional<Duration> last_pass;
  std::vector<std::string> quick;  // diagnostics that this machine offers, in order
  std::vector<std::string> deep;   // further ones
  std::string pair_check;          // the test between nodes that this agent offers; empty: none
  std::string node;                // this one
  Duration most{};                 // longest time of all diagnostics together
};

// A GPU that passed all quick diagnostics this recently is not tested again, unless something is suspected:
// short jobs in sequence must not load a GPU each time.
inline constexpr Duration kFreshPass = std::chrono::hours{1};

struct Plan {
  learning::Depth depth = learning::Depth::passive;  // pair: only a test between nodes
  std::vector<std::string> diagnostics;              // in order; empty if passive
  std::vector<Subject> gpus;                         // that they test
  bool wants_pair_test = false;
  std::string pair_check;               // the test between nodes that this node starts; empty: none
  std::vector<std::string> pair_nodes;  // that it tests
  std::string reason;                   // one sentence: why this depth
  Duration deadline{};                  // of all diagnostics together
  bool yields = false;  // diagnostics are due, but the GPUs are in use or wanted: try again later
};

// Passive checks run in every case. Diagnostics run on idle GPUs that the job held, if the operator allows
// them and nothing waits for GPUs; deeper ones if the job failed without a known cause, or if this node was
// suspected. If the network was suspected, one node of the job starts a test between its nodes first.
[[nodiscard]] Plan plan_validation(const PlanInput& input);

// True if the validation of `a` runs before that of `b`: failed jobs first.
[[nodiscard]] bool is_more_urgent(const JobFacts& a, const JobFacts& b);

// True if the job failed, and no cause is known.
[[nodiscard]] bool failed_without_cause(const JobFacts& job);

}  // namespace autopilot::postflight
