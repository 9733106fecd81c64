// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_loss.hpp"

#include <algorithm>
#include <utility>

#include "incidents/verdict.hpp"

namespace autopilot::runtime {

MemoryLoss::MemoryLoss(std::string cause, int rounds)
    : cause_(std::move(cause)), rounds_(std::max(1, rounds)) {}

void MemoryLoss::note_look(std::string_view check) {
  if (is_over()) return;
  const auto found = looks_.find(check);
  if (found == looks_.end())
    looks_.emplace(check, 1);
  else if (found->second < rounds_)
    ++found->second;
}

bool MemoryLoss::holds(std::string_view check) const {
  if (is_over()) return false;
  const auto found = looks_.find(check);
  return found == looks_.end() || found->second < rounds_;
}

Finding MemoryLoss::finding() const {
  Finding finding;
  finding.health = Health::unknown;
  finding.reason = incidents::kMemoryLost;
  finding.message = "what was known of this node before may not be all there: " + cause_;
  return finding;
}

}  // namespace autopilot::runtime
