// SPDX-License-Identifier: Apache-2.0
#include "jobs/membership.hpp"

#include <algorithm>
#include <numeric>

namespace autopilot::jobs {

Membership::Membership(Fleet& fleet, const JobRecord& job) : fleet_(fleet), job_(job.job) {
  members_.reserve(job.ranks.size());
  std::vector<bool> is_used(fleet.size() + job.ranks.size(), false);
  for (const RankRecord& rank : job.ranks) {
    const auto node = fleet.number_of(rank.node);
    if (!node) {
      ++left_out_;
      continue;
    }
    members_.push_back({rank.rank, *node, rank.gpu.value_or(-1)});
    if (is_used[*node]) continue;
    is_used[*node] = true;
    nodes_.push_back(*node);
    fleet.node(*node).jobs.push_back(job.job);
    if (const std::string& leaf = fleet.node(*node).record.leaf; !leaf.empty()) leaves_.insert(leaf);
  }
  for (const std::string& leaf : leaves_)
    fleet.count_job_on_leaf(leaf, 1);
  by_rank_.resize(members_.size());
  std::iota(by_rank_.begin(), by_rank_.end(), 0U);
  std::ranges::stable_sort(by_rank_, {}, [this](std::uint32_t at) { return members_[at].rank; });
  by_node_ = by_rank_;
  std::ranges::stable_sort(by_node_, {}, [this](std::uint32_t at) { return members_[at].node; });
}

Membership::~Membership() {
  for (const std::uint32_t node : nodes_)
    if (auto& jobs = fleet_.node(node).jobs; std::ranges::find(jobs, job_) != jobs.end())
      jobs.erase(std::ranges::find(jobs, job_));
  for (const std::string& leaf : leaves_)
    fleet_.count_job_on_leaf(leaf, -1);
}

const Member* Membership::find(int rank) const {
  const auto found =
      std::ranges::lower_bound(by_rank_, rank, {}, [this](std::uint32_t at) { return members_[at].rank; });
  if (found == by_rank_.end() || members_[*found].rank != rank) return nullptr;
  return &members_[*found];
}

std::span<const std::uint32_t> Membership::on(std::uint32_t node) const {
  const auto found =
      std::ranges::equal_range(by_node_, node, {}, [this](std::uint32_t at) { return members_[at].node; });
  return {found.begin(), found.end()};
}

std::vector<int> Membership::ranks_on(std::uint32_t node, std::optional<int> gpu) const {
  std::vector<int> ranks;
  for (const std::uint32_t at : on(node))
    if (!gpu || members_[at].gpu == *gpu) ranks.push_back(members_[at].rank);
  return ranks;
}

}  // namespace autopilot::jobs
