// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/events.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <tuple>

#include "catalog/catalog.hpp"
#include "core/parse.hpp"

namespace autopilot::jobs {
namespace {

using namespace std::chrono_literals;

constexpr Duration kEventRepeat = 5s;  // as in the study of Delta
constexpr Duration kEventBurst = 60s;
constexpr Duration kRootBefore = 10min;  // window of Meta
constexpr Duration kRootAfter = 5min;
constexpr Duration kRootTogether = 5s;
constexpr Duration kGoneBefore = 60s;

// From the physical fault to what follows from it: a GPU off the bus ends its firmware's answers, these end
// memory access, and that ends NVLink traffic (79 before 119 before 95 and 48 before 74).
constexpr auto kPhysicalOrder = std::to_array<std::string_view>(
    {"power", "pcie", "node_lost", "hw", "fw", "driver", "memory", "nic", "c2c", "nvlink"});

int distance_of(std::string_view physical_class) {
  const auto* found = std::find(kPhysicalOrder.begin(), kPhysicalOrder.end(), physical_class);
  return static_cast<int>(found - kPhysicalOrder.begin());
}

const catalog::Xid* xid_facts(int xid) {
  return xid < 0 ? nullptr : catalog::builtin().xid(static_cast<std::uint32_t>(xid));
}

// Of an Xid, by the part that the catalog names first. A part without a family of its own is behind PCIe.
Family family_of(int xid) {
  const catalog::Xid* facts = xid_facts(xid);
  if (facts == nullptr || facts->classes.empty()) return Family::pcie;
  const std::string& part = facts->classes.front();
  if (part == "memory") return Family::ecc;
  return part == "nvlink" ? Family::nvlink : Family::pcie;
}

// "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
EventClass class_of_recommendation(std::string_view text) {
  const std::size_t last = text.rfind('(');
  if (last == std::string_view::npos || text.find("changed") == std::string_view::npos)
    return EventClass::info;
  const std::string_view action = text.substr(last + 1);
  return action.starts_with("None") ? EventClass::info : EventClass::hardware;
}

bool states_a_fault(EventClass event_class) {
  return event_class == EventClass::hardware || event_class == EventClass::contained;
}

// "gpu/3", "nic/mlx5_0", "host"; anything else is about the host.
Entity entity_of_subject(const std::string& node, std::string_view subject) {
  if (subject.starts_with("gpu/")) {
    if (const auto index = parse_number<int>(subject.substr(4)); index && *index >= 0)
      return {EntityKind::gpu, node, *index, {}};
  }
  if (subject.starts_with("nic/") && subject.size() > 4)
    return {EntityKind::nic, node, -1, std::string(subject.substr(4))};
  return {EntityKind::host, node, -1, {}};
}

bool is_in_use(const Entity& entity, const std::map<std::string, std::set<int>, std::less<>>& places) {
  if (entity.kind != EntityKind::gpu) return true;
  const auto place = places.find(entity.node);
  // A rank without a GPU index may use any.
  return place != places.end() && (place->second.contains(-1) || place->second.contains(entity.gpu));
}

std::optional<Event> nearest_event(const std::vector<const Event*>& candidates) {
  if (candidates.empty()) return std::nullopt;
  const auto earlier = [](const Event* a, const Event* b) { return a->time < b->time; };
  const WallTime first = (*std::min_element(candidates.begin(), candidates.end(), earlier))->time;
  const Event* best = nullptr;
  for (const Event* event : candidates) {
    if (event->time > first + kRootTogether) continue;
    const auto key = [](const Event& held) {
      return std::tie(held.distance, held.time, held.entity, held.key);
    };
    if (best == nullptr || key(*event) < key(*best)) best = event;
  }
  return *best;
}

}  // namespace

std::string_view to_string(EventClass event_class) {
  switch (event_class) {
    case EventClass::hardware:
      return "hardware";
    case EventClass::contained:
      return "contained";
    case EventClass::degraded:
      return "degraded";
    case EventClass::application:
      return "application";
    case EventClass::consequence:
      return "consequence";
    case EventClass::info:
      return "info";
  }
  return {};
}

EventClass classify_xid(int xid, std::string_view text) {
  const catalog::Xid* facts = xid_facts(xid);
  if (facts == nullptr || facts->classes.empty()) return EventClass::info;
  const std::string& first = facts->classes.front();
  if (first == "sympathetic") return EventClass::consequence;
  if (first == "app") return EventClass::application;
  if (first == "verdict") return class_of_recommendation(text);
  if (facts->health == Health::failed) return EventClass::hardware;
  if (facts->health != Health::degraded) return EventClass::info;
  if (facts->action_now == Action::restart_app) return EventClass::contained;
  return facts->action_now == Action::none ? EventClass::info : EventClass::degraded;
}

std::string_view signal_of(const Event& event) {
  const bool is_xid = event.key.starts_with("xid_");
  switch (event.event_class) {
    case EventClass::hardware:
    case EventClass::contained:
      if (is_xid) return "xid_hardware";
      if (event.key == "node_lost") return "node_lost";
      return event.key == "link_down" ? "nic_down" : "node_finding_failed";
    case EventClass::degraded:
      return "node_finding_degraded";
    case EventClass::application:
      return "xid_application";
    case EventClass::consequence:
    case EventClass::info:
      break;
  }
  return {};
}

EventMemory::EventMemory(EventLimits limits) : limits_(limits) {}

void EventMemory::add(const XidRecord& record) {
  const int gpu = record.gpu.value_or(-1);
  Event event;
  event.time = event.last = record.time;
  event.entity = gpu >= 0 ? Entity{EntityKind::gpu, record.node, gpu, {}}
                          : Entity{EntityKind::host, record.node, -1, {}};
  event.event_class = classify_xid(record.xid, record.text);
  event.key = "xid_" + std::to_string(record.xid);
  event.text = "Xid " + std::to_string(record.xid);
  if (const catalog::Xid* facts = xid_facts(record.xid); facts != nullptr) {
    event.text += " (" + facts->name + ")";
    event.distance = facts->classes.empty() ? 0 : distance_of(facts->classes.front());
  }
  event.family = family_of(record.xid);
  event.text += " on " + to_string(event.entity);
  keep(std::move(event));
}

void EventMemory::add(const LinkRecord& record) {
  const Entity entity{EntityKind::nic, record.node, -1, record.nic};
  if (record.is_up) {
    clear(record.node, entity, "link_down", record.time);
    return;
  }
  Event event;
  event.time = event.last = record.time;
  event.entity = entity;
  event.event_class = EventClass::hardware;
  event.key = "link_down";
  event.text = "The link of " + to_string(entity) + " went down";
  event.distance = distance_of("nic");
  event.family = Family::nic;
  keep(std::move(event));
}

void EventMemory::add(const NodeFindingRecord& record) {
  const Entity entity = entity_of_subject(record.node, record.subject);
  if (record.health == Health::healthy) clear(record.node, entity, record.reason, record.time);
  if (record.health != Health::failed && record.health != Health::degraded) return;
  Event event;
  event.time = event.last = begin_of(record);
  event.entity = entity;
  event.is_finding = true;
  event.event_class = record.health == Health::failed ? EventClass::hardware : EventClass::degraded;
  event.key = record.reason;
  event.text = record.check + " of " + to_string(entity) + " reports " + record.reason;
  event.distance = entity.kind == EntityKind::nic ? distance_of("nic") : distance_of("memory");
  keep(std::move(event));
}

void EventMemory::add(const NodeStateRecord& record) {
  const Entity entity{EntityKind::host, record.node, -1, {}};
  if (!record.is_lost) {
    clear(record.node, entity, "node_lost", record.time);
    return;
  }
  Event event;
  event.time = event.last = record.time;
  event.entity = entity;
  event.event_class = EventClass::hardware;
  event.key = "node_lost";
  event.text = "The node or its agent is lost: " + record.node;
  event.distance = distance_of("node_lost");
  keep(std::move(event));
}

void EventMemory::keep(Event event) {
  auto place = nodes_.find(event.entity.node);
  if (place == nodes_.end()) {
    if (nodes_.size() >= limits_.nodes) {
      ++dropped_;
      return;
    }
    place = nodes_.emplace(event.entity.node, std::deque<Event>{}).first;
  }
  std::deque<Event>& events = place->second;
  for (auto held = events.rbegin(); held != events.rend(); ++held) {
    if (held->key != event.key || held->entity != event.entity || held->cleared) continue;
    if (event.time > held->last + kEventBurst || event.time < held->time - kEventBurst) continue;
    const bool is_repeat = event.time <= held->last + kEventRepeat && event.time >= held->time - kEventRepeat;
    if (!is_repeat) ++held->count;
    held->time = std::min(held->time, event.time);
    held->last = std::max(held->last, event.time);
    return;
  }
  if (events.size() >= limits_.events_of_node) {
    if (!events.empty()) events.pop_front();
    ++dropped_;
  }
  if (limits_.events_of_node > 0) events.push_back(std::move(event));
}

void EventMemory::clear(std::string_view node, const Entity& entity, std::string_view key, WallTime time) {
  const auto place = nodes_.find(node);
  if (place == nodes_.end()) return;
  for (Event& held : place->second) {
    const bool is_same = held.entity == entity && (key.empty() || held.key == key);
    if (is_same && !held.cleared && held.last <= time) held.cleared = time;
  }
}

std::optional<Event> EventMemory::root_of(WallTime failure, const JobRecord& job) const {
  std::map<std::string, std::set<int>, std::less<>> places;
  for (const RankRecord& rank : job.ranks)
    places[rank.node].insert(rank.gpu.value_or(-1));
  const UsualFindings usual = usual_findings(job);
  std::vector<const Event*> faults;
  std::vector<const Event*> degraded;
  for (const auto& [node, gpus] : places) {
    const auto place = nodes_.find(node);
    if (place == nodes_.end()) continue;
    for (const Event& event : place->second) {
      if (event.time < failure - kRootBefore || event.time > failure + kRootAfter) continue;
      if (event.cleared && *event.cleared < failure - kGoneBefore) continue;
      if (!is_in_use(event.entity, places) || is_usual(event, usual, job)) continue;
      if (states_a_fault(event.event_class)) faults.push_back(&event);
      if (event.event_class == EventClass::degraded) degraded.push_back(&event);
    }
  }
  return nearest_event(faults.empty() ? degraded : faults);
}

std::optional<Event> EventMemory::root_of(WallTime failure, std::span<const std::string> nodes) const {
  JobRecord job;
  for (const std::string& node : nodes) {
    RankRecord& rank = job.ranks.emplace_back();
    rank.node = node;
  }
  return root_of(failure, job);
}

EventMemory::UsualFindings EventMemory::usual_findings(const JobRecord& job) const {
  std::set<std::string_view> names;
  for (const RankRecord& rank : job.ranks)
    names.insert(rank.node);
  std::map<std::pair<EntityKind, std::string>, std::size_t> counts;
  for (const std::string_view name : names) {
    const auto place = nodes_.find(name);
    if (place == nodes_.end()) continue;
    UsualFindings of_node;
    for (const Event& event : place->second)
      if (event.is_finding && !event.cleared && event.time < job.time)
        of_node.emplace(event.entity.kind, event.key);
    for (const auto& finding : of_node)
      ++counts[finding];
  }
  UsualFindings usual;
  for (const auto& [finding, count] : counts)
    if (count >= 2 && 2 * count > names.size()) usual.insert(finding);
  return usual;
}

bool EventMemory::is_usual(const Event& event, const UsualFindings& usual, const JobRecord& job) {
  return event.is_finding && event.time < job.time && usual.contains({event.entity.kind, event.key});
}

std::vector<Event> EventMemory::of_node(std::string_view node, WallTime from, WallTime to) const {
  std::vector<Event> events;
  if (const auto place = nodes_.find(node); place != nodes_.end())
    for (const Event& event : place->second)
      if (event.last >= from && event.time <= to) events.push_back(event);
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  return events;
}

bool EventMemory::is_lost(std::string_view node) const {
  const auto place = nodes_.find(node);
  if (place == nodes_.end()) return false;
  return std::any_of(place->second.begin(), place->second.end(),
                     [](const Event& event) { return event.key == "node_lost" && !event.cleared; });
}

}  // namespace autopilot::jobs
