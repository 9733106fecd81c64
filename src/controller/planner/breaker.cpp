// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/breaker.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace autopilot::controller {
namespace {

using Turned = std::pair<WallTime, std::string>;  // when, which node

// The largest part of them that lies within one window.
std::vector<Turned> largest_burst(std::vector<Turned> turned, Duration window) {
  std::ranges::sort(turned);
  std::size_t best_begin = 0;
  std::size_t best_end = 0;
  std::size_t begin = 0;
  for (std::size_t end = 1; end <= turned.size(); ++end) {
    while (turned[end - 1].first - turned[begin].first > window)
      ++begin;
    if (end - begin > best_end - best_begin) best_begin = begin, best_end = end;
  }
  return {turned.begin() + static_cast<std::ptrdiff_t>(best_begin),
          turned.begin() + static_cast<std::ptrdiff_t>(best_end)};
}

}  // namespace

std::vector<TrippedBreaker> tripped_breakers(const World& world, const Policy& policy,
                                             std::span<const Node* const> nodes) {
  // By pool and cause: each node once, with the first time.
  std::map<std::pair<std::string, std::string>, std::map<std::string, WallTime>> turned;
  for (const Node* node : nodes) {
    for (const OpenCause& cause : node->causes) {
      if (!cause.is_passive) continue;
      auto& since = turned[{node->pool, cause.cause}].try_emplace(node->name, cause.since).first->second;
      since = std::min(since, cause.since);
    }
  }
  std::vector<TrippedBreaker> tripped;
  for (const auto& [key, bad] : turned) {
    const Rules& rules = policy.of(key.first);
    const std::size_t in_pool = world.in_pool(key.first).size();
    const auto share = (in_pool * static_cast<std::size_t>(rules.breaker_percent) + 99) / 100;
    const int limit = std::max(rules.breaker_nodes, static_cast<int>(share));
    if (static_cast<int>(bad.size()) < limit) continue;
    std::vector<Turned> times;
    for (const auto& [name, since] : bad)
      times.emplace_back(since, name);
    const std::vector<Turned> burst = largest_burst(std::move(times), rules.breaker_window);
    if (static_cast<int>(burst.size()) < limit) continue;
    TrippedBreaker breaker{
        .pool = key.first, .cause = key.second, .nodes = {}, .limit = limit, .first = burst.front().first};
    for (const Turned& one : burst)
      breaker.nodes.push_back(one.second);
    tripped.push_back(std::move(breaker));
  }
  return tripped;
}

const TrippedBreaker* tripped_in(const std::vector<TrippedBreaker>& breakers, std::string_view pool) {
  const auto at = std::ranges::find_if(breakers, [&](const TrippedBreaker& one) { return one.pool == pool; });
  return at == breakers.end() ? nullptr : &*at;
}

std::string describe(const TrippedBreaker& breaker, const World& world, const Rules& rules) {
  return std::to_string(breaker.nodes.size()) + " of " + std::to_string(world.in_pool(breaker.pool).size()) +
         " nodes of pool " + breaker.pool + " turned bad by " + breaker.cause + " within " +
         format_duration(rules.breaker_window) + ", and " + std::to_string(breaker.limit) +
         " are too many for a fault of theirs: no node of the pool is cordoned, no running pod moved, until "
         "fewer of them are bad";
}

}  // namespace autopilot::controller
