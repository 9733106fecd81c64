// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "jobs/fleet.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

struct Member {
  int rank = 0;
  std::uint32_t node = 0;  // number in the fleet
  int gpu = -1;            // index; -1: a rank without a GPU
};

// Which rank of a job runs where. While it exists, its nodes and leaves count the job.
class Membership {
 public:
  Membership(Fleet& fleet, const JobRecord& job);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  ~Membership();

  [[nodiscard]] const std::string& job() const { return job_; }
  // In the order of the record; ranks on nodes beyond the fleet's limit are missing.
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  // Each node once, in the order of first use.
  [[nodiscard]] const std::vector<std::uint32_t>& nodes() const { return nodes_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  [[nodiscard]] const Member* find(int rank) const;
  // Positions in members() of the ranks on a node, ordered by rank.
  [[nodiscard]] std::span<const std::uint32_t> on(std::uint32_t node) const;
  // Ranks on a node, or on one GPU of it, ascending.
  [[nodiscard]] std::vector<int> ranks_on(std::uint32_t node, std::optional<int> gpu = std::nullopt) const;

 private:
  Fleet& fleet_;
  std::string job_;
  std::vector<Member> members_;
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> by_rank_;  // positions in members_, ordered by rank
  std::vector<std::uint32_t> by_node_;  // ordered by node, then by rank
  std::set<std::string> leaves_;
  std::size_t left_out_ = 0;
};

}  // namespace autopilot::jobs
