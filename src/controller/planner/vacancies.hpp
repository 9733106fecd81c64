// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>

#include "controller/planner/facts.hpp"

namespace autopilot::controller {

// Whose pods begin together, by one string: the set a pod is of, else its owner, in its namespace (whoever
// makes a pod writes its labels: what they say ties nothing together that is of two namespaces). Empty: it is
// alone.
[[nodiscard]] std::string gang_of(const Pod& pod);

// Places of pods of a gang that were moved from their gates, until who comes after them has a node. Who comes
// after whom nobody says: the next pod that is made is taken for it. A gang of which one has begun waits for
// nobody who was moved before.
class Vacancies {
 public:
  // One pod as it was and as it is, not both null; null: it is not there yet, or no more. has_failed: a
  // report says that it should not be where it was; else who leaves is not missed: its owner may want fewer.
  void follow(const Pod* before, const Pod* after, bool has_failed);
  // No pod of it is left.
  void forget(const std::string& gang) { by_gang_.erase(gang); }
  [[nodiscard]] std::size_t of(const std::string& gang) const;

 private:
  struct Places {
    std::size_t lost = 0;              // nobody came after them
    std::set<std::string> on_the_way;  // uids of those who did, and have no node yet
  };

  void leave(const std::string& gang, const Pod& pod, bool has_failed);
  void welcome(const std::string& gang, const Pod& pod);
  void arrive(const std::string& gang, const std::string& uid);

  std::unordered_map<std::string, Places> by_gang_;
};

}  // namespace autopilot::controller
