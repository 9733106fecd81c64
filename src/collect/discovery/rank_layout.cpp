// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/rank_layout.hpp"

#include <array>
#include <string_view>

#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

constexpr int kMostGpus = 64;

struct Names {
  RankSource source;
  std::string_view rank, world, local_rank;  // empty: none
  bool needs_world = true;
  bool needs_local_rank = false;
};

// The order of RankSource.
constexpr auto kSources = std::to_array<Names>({
    {RankSource::torch_worker, "RANK", "WORLD_SIZE", "LOCAL_RANK", true, true},
    {RankSource::ompi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {RankSource::pmi, "PMI_RANK", "PMI_SIZE", ""},
    {RankSource::pmix, "PMIX_RANK", "SLURM_NTASKS", "SLURM_LOCALID", false},
    {RankSource::jax, "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", ""},
    {RankSource::torch, "RANK", "WORLD_SIZE", ""},
    {RankSource::slurm, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
});

// A variable as a number from `low` to `high`; a problem if it is set to something else.
std::optional<int> number_in(const host::Launch& launch, std::string_view name, int low, int high,
                             std::vector<std::string>& problems) {
  const std::string_view text = launch.variable(name);
  if (text.empty()) return std::nullopt;
  const auto number = parse_number<int>(text);
  if (number && *number >= low && *number <= high) return number;
  problems.push_back(std::string(name) + " is \"" + to_printable(text, 40) + "\"");
  return std::nullopt;
}

std::optional<StatedRank> stated_by(const Names& names, const host::Launch& launch,
                                    std::vector<std::string>& problems) {
  const auto rank = number_in(launch, names.rank, 0, StatedRank::kHighestRank, problems);
  if (!rank) return std::nullopt;
  StatedRank stated{.source = names.source, .rank = *rank};
  stated.world = number_in(launch, names.world, 1, StatedRank::kHighestRank + 1, problems);
  if (!names.local_rank.empty())
    stated.local_rank = number_in(launch, names.local_rank, 0, StatedRank::kHighestRank, problems);
  if ((names.needs_world && !stated.world) || (names.needs_local_rank && !stated.local_rank))
    return std::nullopt;
  if (!stated.world || stated.rank < *stated.world) return stated;
  problems.push_back(std::string(names.rank) + " is " + std::to_string(stated.rank) + ", not below " +
                     std::string(names.world) + " " + std::to_string(*stated.world));
  return std::nullopt;
}

}  // namespace

StatedRanks stated_ranks(const host::Launch& launch) {
  StatedRanks stated;
  for (const Names& names : kSources)
    if (const auto rank = stated_by(names, launch, stated.problems)) stated.ranks.push_back(*rank);
  return stated;
}

std::string role_of(const host::Launch& launch, int rank, std::optional<int> world) {
  const auto stages = parse_number<int>(launch.argument("--pipeline-model-parallel-size"));
  if (!stages || !world || *stages < 2 || *stages > *world || *world % *stages != 0) return {};
  return "stage " + std::to_string(rank / (*world / *stages));
}

std::optional<int> visible_gpu(const host::Launch& launch, std::optional<int> local_rank) {
  const std::string_view visible = launch.variable("CUDA_VISIBLE_DEVICES");
  if (visible.empty()) return std::nullopt;
  const auto names = split(visible, ',');
  // A launcher often shows each rank one GPU only.
  const std::size_t at = names.size() == 1 ? 0 : static_cast<std::size_t>(local_rank.value_or(0));
  if (at >= names.size() || (names.size() > 1 && !local_rank)) return std::nullopt;
  const auto index = parse_number<int>(trim(names[at]));
  return index && *index >= 0 && *index < kMostGpus ? index : std::nullopt;
}

}  // namespace autopilot::collect
