// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "api/controller.hpp"
#include "controller/planner/world.hpp"
#include "core/clock.hpp"
#include "kube/caches.hpp"

namespace autopilot::controller {

// Ties together the pods that one owner made, and those of all Jobs of one JobSet: one whose own GPUs are
// proven waits until all of them that have a node are proven as well, or have begun. How long at most, its
// agent decides. A pod is proven while its agent asks for it. Pods of that owner that lost their node at the
// gate are waited for where they come to next (planner/vacancies). One that is not proven yet is told where
// the others are, once all of them are somewhere. Nothing of it is stored: agents ask again, and whoever
// leads next learns all of it from that.
class Gangs {
 public:
  static constexpr Duration kProven = std::chrono::seconds{15};  // after its agent has asked
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kMostNamed = 3;  // in a message

  // pod: of the question, as the world has it. Without an owner it may start.
  [[nodiscard]] api::GangAnswer ask(const World& world, const Pod& pod, const api::GangQuestion& question,
                                    MonoTime now);

 private:
  struct Gang {
    std::map<std::string, MonoTime, std::less<>> proven;  // when was asked last, by the uid of the pod
    std::set<std::string, std::less<>> let_in;            // uids
  };

  [[nodiscard]] static bool is_ready(const Gang& gang, const Pod& pod, MonoTime now);
  static void forget_the_gone(Gang& gang, const World& world);

  kube::RecentMap<Gang> gangs_{kMost};  // by namespace and uid of the owner
};

}  // namespace autopilot::controller
