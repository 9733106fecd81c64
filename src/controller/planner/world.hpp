// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

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

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};
template <class T>
using ByName = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

// The picture of the cluster from which plans are made: what watches told, changed object by object. It must
// show every write that its owner has made: the answer to a write is put in here before the next plan is
// made, and after a write without an answer the picture is not complete until it was taken anew.
//
// Beside the objects it keeps who belongs to whom, so that a plan costs what has to do with it and not the
// size of the cluster.
class World {
 public:
  using Names = std::set<std::string, std::less<>>;

  bool is_complete = false;  // every kind of object was listed, and its watch goes on
  WallTime as_of{};          // so old may it be: when the slowest of the watches last told that it lives

  // New, or in place of that of the same name (pods: uid). True where a plan should be made because of it.
  bool put(Node node);
  bool put(Pod pod);
  bool put(Report report);
  bool put(LedgerEntry entry);
  bool remove_node(std::string_view name);
  bool remove_pod(std::string_view uid);
  bool remove_report(std::string_view name);
  bool remove_entry(std::string_view name);
  // The agent of the node has told that all is as it was. No news: no plan need be made.
  void note_look(std::string_view node, WallTime time);

  // Null where there is none of that name. Pointers are good until the next change.
  [[nodiscard]] const Node* node(std::string_view name) const;
  [[nodiscard]] const Pod* pod(std::string_view uid) const;
  [[nodiscard]] const Report* report(std::string_view name) const;
  [[nodiscard]] const LedgerEntry* entry(std::string_view name) const;

  // In no order.
  [[nodiscard]] const ByName<Node>& nodes() const { return nodes_; }
  // Nodes about which something may have to be decided, also such that are gone and leave an open plan
  // behind.
  [[nodiscard]] const Names& of_concern() const { return concern_; }
  // Names of nodes with accelerators.
  [[nodiscard]] const Names& in_pool(std::string_view pool) const;
  [[nodiscard]] const Names& in_domain(std::string_view domain) const;
  // uids of pods, names of reports and plans.
  [[nodiscard]] const Names& pods_on(std::string_view node) const;
  [[nodiscard]] const Names& pods_of(std::string_view owner_uid) const;
  [[nodiscard]] const Names& pods_of_set(std::string_view set_uid) const;
  // Of the same set or owner, itself among them, in any namespace. Empty: it is alone.
  [[nodiscard]] const Names& pods_of_gang(const Pod& pod) const;
  // A report says that it should not begin where it is.
  [[nodiscard]] bool has_failed(const Pod& pod) const;
  [[nodiscard]] const Vacancies& vacancies() const { return vacancies_; }
  [[nodiscard]] const Names& reports_on(std::string_view node) const;
  [[nodiscard]] const Names& plans_on(std::string_view node) const;
  [[nodiscard]] const Names& open_plans() const { return open_; }
  [[nodiscard]] const Names& pending_reports() const { return pending_; }
  // Plans by the time of their last change.
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
