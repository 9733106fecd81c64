// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "jobs/findings.hpp"
#include "jobs/records.hpp"

// Xids, link changes, findings and states of nodes, kept to name the root of a failure.
namespace autopilot::jobs {

// What an event states about the machine, from strongest to weakest.
enum class EventClass : std::uint8_t {
  hardware,     // the part does not work: no job can go on with it
  contained,    // one process ended; the part works, and a reset is due
  degraded,     // the part may be at fault
  application,  // an error of a program: no node is accused
  consequence,  // follows another event
  info,         // states no fault
};
[[nodiscard]] std::string_view to_string(EventClass event_class);

// By the catalog of Xids; no entry: info. `text` is the line of the driver, whose recommendation (Xid 154)
// has precedence.
[[nodiscard]] EventClass classify_xid(int xid, std::string_view text);

struct Event {
  WallTime time{};  // of the first of its burst
  WallTime last{};  // of the last
  int count = 1;    // errors in the burst; repeats within 5 s are one
  EventClass event_class = EventClass::info;
  Entity entity;     // a GPU, a NIC or a host
  std::string key;   // "xid_79", "link_down", "node_lost", or the reason of a finding
  std::string text;  // one sentence
  // Which of two events at the same time is nearer to the physical fault: the lower.
  int distance = 0;
  Family family = Family::host;     // of the evidence
  std::optional<WallTime> cleared;  // the link is up again, the node is back, the check is healthy
  bool is_finding = false;          // of the node's agent; it begins at `time` and lasts until `cleared`
};

// Key of the likelihood table for the event as evidence about its entity; empty: it states nothing.
[[nodiscard]] std::string_view signal_of(const Event& event);

struct EventLimits {
  std::size_t nodes = 32768;
  std::size_t events_of_node = 128;  // the oldest is dropped first
};

// Not thread-safe. Times of one node may fall by up to 60 s.
class EventMemory {
 public:
  explicit EventMemory(EventLimits limits = {});

  void add(const XidRecord& record);
  void add(const LinkRecord& record);
  void add(const NodeFindingRecord& record);  // unknown and unsupported are left out
  void add(const NodeStateRecord& record);

  // The earliest event in [failure - 10 min, failure + 5 min] on a node of the job that states a fault of
  // hardware; of several within 5 s, the nearest to the physical fault. Degraded parts count only if there is
  // no such event, application errors and consequences never. An event about a GPU that no rank uses does not
  // count, nor a fault that was gone 60 s before the failure. nullopt: no event names a culprit.
  [[nodiscard]] std::optional<Event> root_of(WallTime failure, const JobRecord& job) const;
  // The same for all parts of these nodes.
  [[nodiscard]] std::optional<Event> root_of(WallTime failure, std::span<const std::string> nodes) const;

  // Whether most nodes of the job, and at least two, have this finding about such a part since before the job
  // (this attempt on these ranks) began: it distinguishes no node, so it is evidence against none.
  using UsualFindings = std::set<std::pair<EntityKind, std::string>>;  // kinds of parts, keys of findings
  [[nodiscard]] UsualFindings usual_findings(const JobRecord& job) const;
  [[nodiscard]] static bool is_usual(const Event& event, const UsualFindings& usual, const JobRecord& job);

  // Events of a node that touch [from, to], oldest first.
  [[nodiscard]] std::vector<Event> of_node(std::string_view node, WallTime from, WallTime to) const;
  [[nodiscard]] bool is_lost(std::string_view node) const;

  // Events that were dropped because of a limit.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void keep(Event event);
  void clear(std::string_view node, const Entity& entity, std::string_view key, WallTime time);

  EventLimits limits_;
  std::map<std::string, std::deque<Event>, std::less<>> nodes_;
  std::uint64_t dropped_ = 0;
};

}  // namespace autopilot::jobs
