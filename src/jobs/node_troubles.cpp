// SPDX-License-Identifier: Apache-2.0
#include "jobs/node_troubles.hpp"

#include <utility>

namespace autopilot::jobs {

bool NodeTroubles::begin(std::string_view node, std::string trouble) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) {
    if (found->second.size() < kMaxOfNode) found->second.insert(std::move(trouble));
    return false;
  }
  if (nodes_.size() >= kMaxNodes) return true;  // counted each time: rather too many than too few
  nodes_[std::string(node)].insert(std::move(trouble));
  return true;
}

void NodeTroubles::end(std::string_view node, const std::string& trouble) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  found->second.erase(trouble);
  if (found->second.empty()) nodes_.erase(found);
}

std::optional<NodeTroubles::Trouble> NodeTroubles::add(const Record& record) {
  bool has_begun = false;
  Trouble trouble;
  if (const auto* state = std::get_if<NodeStateRecord>(&record)) {
    trouble = {.node = state->node, .begin = state->time};
    if (state->is_lost)
      has_begun = begin(trouble.node, "lost");
    else
      end(trouble.node, "lost");
  } else if (const auto* finding = std::get_if<NodeFindingRecord>(&record)) {
    trouble = {.node = finding->node, .begin = begin_of(*finding)};
    const std::string key = finding->check + '\n' + finding->subject;
    if (finding->health == Health::degraded || finding->health == Health::failed)
      has_begun = begin(trouble.node, key);
    else if (finding->health == Health::healthy)
      end(trouble.node, key);
  }
  return has_begun ? std::optional(std::move(trouble)) : std::nullopt;
}

}  // namespace autopilot::jobs
