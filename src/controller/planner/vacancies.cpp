// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/vacancies.hpp"

namespace autopilot::controller {
namespace {

bool is_here(const Pod* pod) {
  return pod != nullptr && !pod->is_deleting;
}

}  // namespace

std::string gang_of(const Pod& pod) {
  if (!pod.owner) return {};
  return pod.name_space + '/' + (pod.set ? pod.set : pod.owner)->uid;
}

void Vacancies::follow(const Pod* before, const Pod* after) {
  const std::string gang = gang_of(after != nullptr ? *after : *before);
  if (gang.empty()) return;
  const bool has_begun = before != nullptr && before->is_gated && after != nullptr && !after->is_gated;
  if (has_begun) return forget(gang);
  if (before == nullptr && is_here(after)) return welcome(gang, *after);
  if (!is_here(before)) return;
  if (!is_here(after)) {
    if (before->is_gated) lose(gang, *before);
  } else if (!after->node.empty()) {
    arrive(gang, after->uid);
  }
}

std::size_t Vacancies::of(const std::string& gang) const {
  const auto found = by_gang_.find(gang);
  return found == by_gang_.end() ? 0 : found->second.lost + found->second.on_the_way.size();
}

// One that never had a node leaves none, unless it came after another one.
void Vacancies::lose(const std::string& gang, const Pod& pod) {
  if (!pod.node.empty()) {
    ++by_gang_[gang].lost;
    return;
  }
  const auto found = by_gang_.find(gang);
  if (found != by_gang_.end() && found->second.on_the_way.erase(pod.uid) > 0) ++found->second.lost;
}

void Vacancies::welcome(const std::string& gang, const Pod& pod) {
  const auto found = by_gang_.find(gang);
  if (found == by_gang_.end() || found->second.lost == 0) return;
  --found->second.lost;
  if (pod.node.empty()) found->second.on_the_way.insert(pod.uid);
}

void Vacancies::arrive(const std::string& gang, const std::string& uid) {
  const auto found = by_gang_.find(gang);
  if (found != by_gang_.end()) found->second.on_the_way.erase(uid);
}

}  // namespace autopilot::controller
