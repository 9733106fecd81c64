// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/world.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

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
  // Labels can change the gang: the vacancy belongs to the previous one.
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

// A successor that leaves without a node reopens the vacancy.
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

namespace {

using Index = ByName<World::Names>;

const World::Names& names_in(const Index& index, std::string_view key) {
  static const World::Names none;
  const auto at = index.find(key);
  return at == index.end() ? none : at->second;
}

void add(Index& index, const std::string& key, const std::string& name) {
  if (!key.empty()) index[key].insert(name);
}

void remove(Index& index, const std::string& key, const std::string& name) {
  const auto at = index.find(key);
  if (at == index.end()) return;
  at->second.erase(name);
  if (at->second.empty()) index.erase(at);
}

template <class T>
const T* find_in(const ByName<T>& objects, std::string_view name) {
  const auto at = objects.find(name);
  return at == objects.end() ? nullptr : &at->second;
}

// The fields that decisions about other nodes depend on: the number of nodes, and which of them are healthy.
bool is_as_good(const Node& a, const Node& b) {
  return a.pool == b.pool && a.domain == b.domain && a.gpus == b.gpus && a.is_ready == b.is_ready &&
         a.is_unschedulable == b.is_unschedulable && a.verdict == b.verdict && a.labels == b.labels &&
         a.taints == b.taints;
}

OpenCause cause_of(const Lemon& lemon) {
  const auto since =
      std::chrono::floor<std::chrono::milliseconds>(lemon.last_fault.time_since_epoch()).count();
  OpenCause cause{.incident = "lemon-" + std::to_string(since),
                  .cause = std::string(kLemonCause),
                  .blamed = "node " + lemon.node,
                  .since = lemon.last_fault};
  cause.keeps_pods = true;
  cause.lemon = lemon.why;
  return cause;
}

bool concerns_by_itself(const Node& node) {
  return node.held || node.probation || !node.causes.empty() || node.wants_test || node.granted_test ||
         node.verdict == Verdict::evict || node.verdict == Verdict::testing;
}

}  // namespace

bool World::put(Node node) {
  const std::string name = node.name;
  const Node* old = this->node(name);
  const bool is_news = old == nullptr || !is_as_good(*old, node);
  if (old != nullptr) unlink(*old);
  if (node.gpus > 0) {
    add(by_pool_, node.pool, name);
    add(by_domain_, node.domain, name);
  }
  nodes_.insert_or_assign(name, std::move(node));
  // Other plans can wait for a new or recovered node.
  return review(name) || is_news;
}

bool World::put(Pod pod) {
  const std::string uid = pod.uid;
  const Pod* old = this->pod(uid);
  const bool had_concern = old != nullptr && concern_.contains(old->node);
  vacancies_.follow(old, &pod, old != nullptr && has_failed(*old));
  const bool is_of_another_gang = old != nullptr && gang_of(*old) != gang_of(pod);
  const std::optional<Pod> gone = is_of_another_gang ? std::optional(*old) : std::nullopt;
  if (old != nullptr) unlink(*old);
  add(pods_by_node_, pod.node, uid);
  if (pod.owner) add(pods_by_owner_, pod.owner->uid, uid);
  if (pod.set) add(pods_by_set_, pod.set->uid, uid);
  const bool has_concern = concern_.contains(pod.node);
  pods_.insert_or_assign(uid, std::move(pod));
  if (gone && pods_of_gang(*gone).empty()) vacancies_.forget(gang_of(*gone));
  return had_concern || has_concern;
}

bool World::put(Report report) {
  const std::string name = report.name;
  const std::string node = report.node;
  std::string was_on = node;
  if (const Report* old = this->report(name)) {
    was_on = old->node;
    unlink(*old);
  }
  add(reports_by_node_, node, name);
  if (report.phase == ReportPhase::pending) pending_.insert(name);
  reports_.insert_or_assign(name, std::move(report));
  const bool had_concern = was_on != node && review(was_on);
  return review(node) || had_concern;
}

bool World::put(LedgerEntry entry) {
  const std::string name = entry.name;
  const std::string node = entry.node;
  std::string was_of = node;
  if (const LedgerEntry* old = this->entry(name)) {
    was_of = old->node;
    unlink(*old);
  }
  add(plans_by_node_, node, name);
  if (is_open(entry.phase)) open_.insert(name);
  by_change_.emplace(entry.updated, name);
  entries_.insert_or_assign(name, std::move(entry));
  review(was_of);
  review(node);
  return true;
}

bool World::remove_node(std::string_view name) {
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return false;
  unlink(at->second);
  nodes_.erase(at);
  return review(std::string(name));
}

bool World::remove_pod(std::string_view uid) {
  const auto at = pods_.find(uid);
  if (at == pods_.end()) return false;
  const Pod& pod = at->second;
  const bool has_concern = concern_.contains(pod.node);
  vacancies_.follow(&pod, nullptr, has_failed(pod));
  unlink(pod);
  if (pods_of_gang(pod).empty()) vacancies_.forget(gang_of(pod));
  pods_.erase(at);
  return has_concern;
}

bool World::remove_report(std::string_view name) {
  const auto at = reports_.find(name);
  if (at == reports_.end()) return false;
  const std::string node = at->second.node;
  unlink(at->second);
  reports_.erase(at);
  return review(node);
}

bool World::remove_entry(std::string_view name) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return false;
  const std::string node = at->second.node;
  unlink(at->second);
  entries_.erase(at);
  return review(node);
}

bool World::set_lemons(LemonSearch search) {
  ByName<OpenCause> next;
  for (const Lemon& lemon : search.lemons)
    next.insert_or_assign(lemon.node, cause_of(lemon));
  if (next == lemons_ && search.last_faults == last_faults_) return false;
  last_faults_ = std::move(search.last_faults);
  const ByName<OpenCause> before = std::exchange(lemons_, std::move(next));
  for (const ByName<OpenCause>* all : {&before, &std::as_const(lemons_)})
    for (const auto& [node, cause] : *all)
      review(node);
  return true;
}

const OpenCause* World::lemon(std::string_view node) const {
  return find_in(lemons_, node);
}

bool World::is_cleared_lemon(std::string_view node, WallTime last_fault) const {
  using std::chrono::floor, std::chrono::milliseconds;  // what the ledger keeps
  const auto known = last_faults_.find(node);
  return lemon(node) == nullptr && known != last_faults_.end() &&
         floor<milliseconds>(known->second) >= floor<milliseconds>(last_fault);
}

void World::note_report(std::string_view node, WallTime time) {
  const auto at = nodes_.find(node);
  if (at != nodes_.end()) at->second.looked = time;
}

const Node* World::node(std::string_view name) const {
  return find_in(nodes_, name);
}
const Pod* World::pod(std::string_view uid) const {
  return find_in(pods_, uid);
}
const Report* World::report(std::string_view name) const {
  return find_in(reports_, name);
}
const LedgerEntry* World::entry(std::string_view name) const {
  return find_in(entries_, name);
}
const World::Names& World::in_pool(std::string_view pool) const {
  return names_in(by_pool_, pool);
}
const World::Names& World::in_domain(std::string_view domain) const {
  return names_in(by_domain_, domain);
}
const World::Names& World::pods_on(std::string_view node) const {
  return names_in(pods_by_node_, node);
}
const World::Names& World::pods_of(std::string_view owner_uid) const {
  return names_in(pods_by_owner_, owner_uid);
}

const World::Names& World::pods_of_set(std::string_view set_uid) const {
  return names_in(pods_by_set_, set_uid);
}
bool World::has_failed(const Pod& pod) const {
  return std::ranges::any_of(reports_on(pod.node), [&](const std::string& name) {
    const Report* known = report(name);
    return known != nullptr && known->pod_uid == pod.uid && known->outcome != Outcome::started;
  });
}
const World::Names& World::pods_of_gang(const Pod& pod) const {
  static const Names none;
  if (!pod.owner) return none;
  return pod.set ? pods_of_set(pod.set->uid) : pods_of(pod.owner->uid);
}
const World::Names& World::reports_on(std::string_view node) const {
  return names_in(reports_by_node_, node);
}
const World::Names& World::plans_on(std::string_view node) const {
  return names_in(plans_by_node_, node);
}

bool World::review(std::string_view node) {
  const bool had_concern = concern_.contains(node);
  const bool has_concern = is_of_concern(node);
  if (has_concern && !had_concern) concern_.emplace(node);
  if (!has_concern && had_concern) concern_.erase(concern_.find(node));
  return had_concern || has_concern;
}

bool World::is_of_concern(std::string_view name) const {
  const auto is_open_plan = [&](const std::string& plan) { return open_.contains(plan); };
  if (std::ranges::any_of(plans_on(name), is_open_plan)) return true;
  const auto is_pending = [&](const std::string& report) { return pending_.contains(report); };
  if (std::ranges::any_of(reports_on(name), is_pending)) return true;
  const Node* known = node(name);
  return known != nullptr && known->gpus > 0 && (concerns_by_itself(*known) || lemons_.contains(name));
}

void World::unlink(const Node& node) {
  remove(by_pool_, node.pool, node.name);
  remove(by_domain_, node.domain, node.name);
}

void World::unlink(const Pod& pod) {
  remove(pods_by_node_, pod.node, pod.uid);
  if (pod.owner) remove(pods_by_owner_, pod.owner->uid, pod.uid);
  if (pod.set) remove(pods_by_set_, pod.set->uid, pod.uid);
}

void World::unlink(const Report& report) {
  remove(reports_by_node_, report.node, report.name);
  pending_.erase(report.name);
}

void World::unlink(const LedgerEntry& entry) {
  remove(plans_by_node_, entry.node, entry.name);
  open_.erase(entry.name);
  by_change_.erase({entry.updated, entry.name});
}

}  // namespace autopilot::controller
