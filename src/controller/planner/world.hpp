// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/planner/facts.hpp"

namespace autopilot::controller {

// Identifies the group of pods that start together: the set of a pod, otherwise its owner, with the
// namespace, because labels of one namespace must not affect another. Empty: the pod starts alone.
[[nodiscard]] std::string gang_of(const Pod& pod);

// Counts the pods of each gang that were moved at their gate and have no successor on a node yet. The API
// does not link a pod to its successor: the next new pod counts as it. Once one pod of a gang has started,
// earlier removals do not count.
class Vacancies {
 public:
  // The previous and the current state of one pod, not both null; null: it does not exist. has_failed: a
  // report states that it should not be on its node; other pods that leave have no successor, because their
  // owner can reduce their number.
  void follow(const Pod* before, const Pod* after, bool has_failed);
  // Call it when no pod of the gang is left.
  void forget(const std::string& gang) { by_gang_.erase(gang); }
  [[nodiscard]] std::size_t of(const std::string& gang) const;

 private:
  struct Places {
    std::size_t lost = 0;              // no successor yet
    std::set<std::string> on_the_way;  // uids of successors without a node
  };

  void leave(const std::string& gang, const Pod& pod, bool has_failed);
  void welcome(const std::string& gang, const Pod& pod);
  void arrive(const std::string& gang, const std::string& uid);

  std::unordered_map<std::string, Places> by_gang_;
};

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};
template <class T>
using ByName = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

// The snapshot of the cluster that plans are made from, updated object by object from watches. It must
// contain every write of its owner: the response to a write is added before the next plan, and after a write
// without a response the snapshot is incomplete until the object was read again.
// It also indexes the relations between objects, so that the cost of a plan depends on the affected objects
// and not on the size of the cluster.
class World {
 public:
  using Names = std::set<std::string, std::less<>>;

  bool is_complete = false;  // every kind of object was listed, and its watch runs
  WallTime as_of{};          // time of the last sign of life of the slowest watch

  // Adds an object, or replaces the one with the same name (pods: uid). True if a new plan is needed.
  bool put(Node node);
  bool put(Pod pod);
  bool put(Report report);
  bool put(LedgerEntry entry);
  bool remove_node(std::string_view name);
  bool remove_pod(std::string_view uid);
  bool remove_report(std::string_view name);
  bool remove_entry(std::string_view name);
  // Replaces the result of the last search. True if a new plan is needed.
  bool set_lemons(LemonSearch search);
  // The agent of the node reported no change. No new plan is needed.
  void note_report(std::string_view node, WallTime time);

  // Null: no such object. Pointers are valid until the next change.
  [[nodiscard]] const Node* node(std::string_view name) const;
  [[nodiscard]] const Pod* pod(std::string_view uid) const;
  [[nodiscard]] const Report* report(std::string_view name) const;
  [[nodiscard]] const LedgerEntry* entry(std::string_view name) const;

  // The node is a lemon: as a cause, whose incident names the last fault. Null: it is not known to be one.
  [[nodiscard]] const OpenCause* lemon(std::string_view node) const;
  // The history has the faults up to this time for which the node was called a lemon, and it is none any
  // more. False before the first search, and after one in a history that is younger than these faults.
  [[nodiscard]] bool is_cleared_lemon(std::string_view node, WallTime last_fault) const;

  // Unordered.
  [[nodiscard]] const ByName<Node>& nodes() const { return nodes_; }
  // Nodes that can need a decision, including nodes that are gone and leave an open plan.
  [[nodiscard]] const Names& of_concern() const { return concern_; }
  // Names of nodes with accelerators.
  [[nodiscard]] const Names& in_pool(std::string_view pool) const;
  [[nodiscard]] const Names& in_domain(std::string_view domain) const;
  // uids of pods, names of reports and plans.
  [[nodiscard]] const Names& pods_on(std::string_view node) const;
  [[nodiscard]] const Names& pods_of(std::string_view owner_uid) const;
  [[nodiscard]] const Names& pods_of_set(std::string_view set_uid) const;
  // The pods of the same set or owner, including itself, in any namespace. Empty: the pod starts alone.
  [[nodiscard]] const Names& pods_of_gang(const Pod& pod) const;
  // True if a report states that the pod should not start on its node.
  [[nodiscard]] bool has_failed(const Pod& pod) const;
  [[nodiscard]] const Vacancies& vacancies() const { return vacancies_; }
  [[nodiscard]] const Names& reports_on(std::string_view node) const;
  [[nodiscard]] const Names& plans_on(std::string_view node) const;
  [[nodiscard]] const Names& open_plans() const { return open_; }
  [[nodiscard]] const Names& pending_reports() const { return pending_; }
  // Plans, ordered by the time of their last change.
  [[nodiscard]] const std::set<std::pair<WallTime, std::string>>& plans_by_change() const {
    return by_change_;
  }

 private:
  using Index = ByName<Names>;

  bool review(std::string_view node);
  [[nodiscard]] bool is_of_concern(std::string_view name) const;
  void unlink(const Node& node);
  void unlink(const Pod& pod);
  void unlink(const Report& report);
  void unlink(const LedgerEntry& entry);

  ByName<Node> nodes_;
  ByName<Pod> pods_;
  ByName<Report> reports_;
  ByName<LedgerEntry> entries_;
  ByName<OpenCause> lemons_;  // by node
  std::map<std::string, WallTime, std::less<>> last_faults_;
  Names concern_;
  Names open_;
  Names pending_;
  std::set<std::pair<WallTime, std::string>> by_change_;
  Index by_pool_;
  Index by_domain_;
  Index pods_by_node_;
  Index pods_by_owner_;
  Index pods_by_set_;
  Index reports_by_node_;
  Index plans_by_node_;
  Vacancies vacancies_;
};

}  // namespace autopilot::controller
