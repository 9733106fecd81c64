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
  const Owner& owner = pod.set ? *pod.set : *pod.owner;
  return pod.name_space + '/' + owner.uid;
}

void Vacancies::follow(const Pod* before, const Pod* after, bool has_failed) {
  // Labels change, and with them the gang: what it left there goes by the name that it had.
  const std::string gang = gang_of(before != nullptr ? *before : *after);
  if (gang.empty()) return;
  const bool has_begun = before != nullptr && before->is_gated && after != nullptr && !after->is_gated;
  if (has_begun) return forget(gang);
  if (before == nullptr && is_here(after)) return welcome(gang, *after);
  if (!is_here(before)) return;
  if (!is_here(after) || gang_of(*after) != gang)
    leave(gang, *before, has_failed);
  else if (!after->node.empty())
    arrive(gang, after->uid);
}

std::size_t Vacancies::of(const std::string& gang) const {
  const auto found = by_gang_.find(gang);
  return found == by_gang_.end() ? 0 : found->second.lost + found->second.on_the_way.size();
}

// One that came after another and leaves without a node leaves that place open again.
void Vacancies::leave(const std::string& gang, const Pod& pod, bool has_failed) {
  if (!pod.node.empty() && pod.is_gated && has_failed) ++by_gang_[gang].lost;
  const auto found = by_gang_.find(gang);
  if (found != by_gang_.end() && found->second.on_the_way.erase(pod.uid) > 0) ++found->second.lost;
}

void Vacancies::welcome(const std::string& gang, const Pod& pod) {
  const auto found = by_gang_.find(gang);
  if (found == by_gang_.end() || found->second.lost == 0) return;
  --found->second.lost;
  if (pod.node.empty()) found->second.on_the_way.insert(pod.uid);
  if (found->second.on_the_way.empty() && found->second.lost == 0) by_gang_.erase(found);
}

void Vacancies::arrive(const std::string& gang, const std::string& uid) {
  const auto found = by_gang_.find(gang);
  if (found == by_gang_.end()) return;
  found->second.on_the_way.erase(uid);
  if (found->second.on_the_way.empty() && found->second.lost == 0) by_gang_.erase(found);
}

}  // namespace autopilot::controller
