// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/testing.hpp"

#include <algorithm>
#include <map>

namespace autopilot::controller {

void grant_tests(Deliberation& all) {
  std::map<std::string, int, std::less<>> in_pool;
  std::map<std::string, int, std::less<>> in_domain;
  std::vector<const Node*> asking;
  const auto take = [&](const Node& node) {
    ++in_pool[node.pool];
    if (!node.domain.empty()) ++in_domain[node.domain];
  };
  for (const Node* node : all.nodes) {
    if (node->held) {
      if (node->wants_test) all.plan.may_test.push_back(node->name);
    } else if (node->verdict == Verdict::testing || node->granted_test) {
      take(*node);
    } else if (node->wants_test) {
      asking.push_back(node);
    }
  }
  std::ranges::sort(asking, [](const Node* a, const Node* b) {
    return std::pair(*a->wants_test, a->name) < std::pair(*b->wants_test, b->name);
  });
  for (const Node* node : asking) {
    const int percent = all.rules_of(*node).testing_percent;
    if (in_pool[node->pool] >= share_of(all.world.in_pool(node->pool).size(), percent)) continue;
    if (!node->domain.empty() &&
        in_domain[node->domain] >= share_of(all.world.in_domain(node->domain).size(), percent))
      continue;
    take(*node);
    all.plan.may_test.push_back(node->name);
  }
}

}  // namespace autopilot::controller
