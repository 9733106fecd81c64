// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "jobs/detectors/peers.hpp"
#include "jobs/findings.hpp"
#include "jobs/roles.hpp"

// Culprit or victim. When a synchronous job slows, all of its ranks slow: a rank is accused for a state of
// its machine, or because it arrives last, never for being slow.
namespace autopilot::jobs {

// One persistent outlier of a rank: of its GPU, its processes, one of its NICs or its host.
struct Deviation {
  const PeerRule* rule = nullptr;                                   // nullptr: ignored
  float value = kMissing, median = kMissing, threshold = kMissing;  // of the last minute that was a hit
  float z = 0;
  std::uint32_t peers = 0;  // members that it was compared with; 0: not stated
  std::string_view nic;     // name, if the rule is about NICs
};

struct JobCondition {
  bool is_synchronous = true;  // ranks wait for each other in each step; false for inference
  bool is_slow = false;        // everybody's step is longer than it was
  RoleSource roles = RoleSource::declared;
};

enum class BlameVerdict : std::uint8_t {
  none,          // nothing to say
  culprit_gpu,   // the GPU, with what it is plugged into
  culprit_host,  // processors, memory or processes of the node
  culprit_nic,
  victim,    // waits for others
  workload,  // the program gives it other work, or starts it late: no node is accused
};
[[nodiscard]] std::string_view to_string(BlameVerdict verdict);

struct Blame {
  BlameVerdict verdict = BlameVerdict::none;
  Entity culprit;  // unlocalised, except for a culprit
  // Short key: "stopped", "power_brake", "thermal", "hw_slowdown", "ecc", "pcie", "nvlink", "power_cap",
  // Key: causes.hpp; empty, except for a culprit.
  std::string cause;
  std::vector<Evidence> evidence;  // for the verdict: faults first, then the largest z; at most kMaxEvidence
  std::vector<std::string>
      ruled_out;  // deviations with another explanation, a sentence each; at most kMaxEvidence
  static constexpr std::size_t kMaxEvidence = 16;
};

// Judges one rank. `gpu`: index, or -1 for a rank without one: then no GPU is accused.
[[nodiscard]] Blame judge_rank(std::string_view node, int gpu, std::span<const Deviation> deviations,
                               const JobCondition& job, WallTime time);

// If at least two GPUs and more than half of the ranks of one node are culprits, the node is: their power or
// air is common. `blames`: of the node's ranks of one job. nullopt: judge each rank by itself.
[[nodiscard]] std::optional<Blame> join_node(std::span<const Blame> blames);

}  // namespace autopilot::jobs
