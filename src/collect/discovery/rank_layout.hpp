// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/process/launch.hpp"

// What the environment and the arguments of a process state about its rank. Pure.
namespace autopilot::collect {

// The source of a rank, the surest first. A worker of torchrun has RANK of its own; a pod of a PyTorchJob has
// the RANK of its pod, which is that of a launcher if workers exist.
enum class RankSource : std::uint8_t { torch_worker, ompi, pmi, pmix, jax, torch, slurm };

struct StatedRank {
  static constexpr int kHighestRank = 65535;

  RankSource source = RankSource::torch_worker;
  int rank = 0;
  std::optional<int> world;       // above rank
  std::optional<int> local_rank;  // on the node

  friend bool operator==(const StatedRank&, const StatedRank&) = default;
};

struct StatedRanks {
  std::vector<StatedRank> ranks;      // the surest source first
  std::vector<std::string> problems;  // invalid values: "RANK is \"-5\""
};

[[nodiscard]] StatedRanks stated_ranks(const host::Launch& launch);

// "stage 2": the pipeline stage of a rank in the order of Megatron, where ranks of a stage follow each other.
// Empty: the arguments state no stages, or sizes that do not fit.
[[nodiscard]] std::string role_of(const host::Launch& launch, int rank, std::optional<int> world);

// The index of the GPU according to CUDA_VISIBLE_DEVICES and the local rank, on a machine without a container
// between. nullopt: not stated, or names other than indexes.
[[nodiscard]] std::optional<int> visible_gpu(const host::Launch& launch, std::optional<int> local_rank);

}  // namespace autopilot::collect
