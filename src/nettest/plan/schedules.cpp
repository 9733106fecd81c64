// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/schedules.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace autopilot::nettest {
namespace {

// splitmix64. Distributions of the standard library can differ between two builds, and agents of different
// builds must use the same schedule.
std::uint64_t next_of(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace

std::optional<NodeNumber> circle_partner(std::size_t n, std::size_t round, NodeNumber node) {
  if (n < 2) return std::nullopt;
  const std::size_t others = n - 1 + n % 2;  // all but the fixed one
  const bool is_dummy_there = n % 2 == 1;
  if (node == others) return static_cast<NodeNumber>(round);
  const std::size_t partner = (2 * round + others - node) % others;
  if (partner != node) return static_cast<NodeNumber>(partner);
  if (is_dummy_there) return std::nullopt;
  return static_cast<NodeNumber>(others);
}

ContactRounds::ContactRounds(std::size_t n, std::size_t targets, std::uint64_t seed)
    : targets_(std::min(targets, n == 0 ? 0 : n - 1)), distances_(n == 0 ? 0 : n - 1) {
  std::iota(distances_.begin(), distances_.end(), NodeNumber{1});
  for (std::size_t i = distances_.size(); i > 1; --i)
    std::swap(distances_[i - 1], distances_[next_of(seed) % i]);
}

std::size_t ContactRounds::cycle() const {
  return targets_ == 0 ? 0 : (distances_.size() + targets_ - 1) / targets_;
}

std::vector<NodeNumber> ContactRounds::targets(NodeNumber node, std::size_t round, RailNumber rail) const {
  std::vector<NodeNumber> asked;
  if (targets_ == 0) return asked;
  asked.reserve(targets_);
  const std::size_t begin = (round + rail) % cycle() * targets_;
  for (std::size_t i = 0; i < targets_; ++i) {
    // The last round of a cycle is filled up with the first distances.
    const NodeNumber distance = distances_[(begin + i) % distances_.size()];
    asked.push_back(static_cast<NodeNumber>((node + distance) % (distances_.size() + 1)));
  }
  return asked;
}

}  // namespace autopilot::nettest
