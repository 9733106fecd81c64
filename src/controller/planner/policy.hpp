// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "core/action.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

// What an operator lets the planner do (docs/remediation.md).
namespace autopilot::controller {

// What happens to a pod whose pre-flight test could not be made.
enum class CouldNotLook : std::uint8_t { start, stop };
[[nodiscard]] std::string_view to_string(CouldNotLook what);

// What gives a node back.
enum class Proof : std::uint8_t {
  failed_tests,  // that the tests which failed pass, or a deep test
  deep_test,
};
[[nodiscard]] std::string_view to_string(Proof proof);

// The rules for the nodes of one pool. Shares are in percent and never less than one node.
struct Rules {
  Mode mode = Mode::observe;

  // Nodes that are held at once, of all that there are.
  int pool_percent = 10;
  int domain_percent = 10;
  int job_percent = 10;      // of the nodes that the job uses
  int testing_percent = 10;  // nodes that are reserved for a deep test though they are in service

  int holds_per_hour = 6;       // of the pool
  int evictions_per_hour = 30;  // of running pods, of the pool

  // So many nodes of the pool that turned bad within the window by one cause are no fault of theirs.
  int breaker_nodes = 3;
  int breaker_percent = 5;
  Duration breaker_window = std::chrono::minutes{30};
  // What was only seen is acted on when it has stood so long: the first of many comes alone.
  Duration breaker_settle = std::chrono::minutes{1};

  Duration stale_after = std::chrono::minutes{15};  // three heartbeats of an agent
  Duration report_age = std::chrono::hours{1};      // an older report proves nothing any more
  CouldNotLook could_not_look = CouldNotLook::start;

  bool deletes_pods = false;                      // in place of evicting them
  Duration job_interval = std::chrono::hours{6};  // running pods of a job leave one node in that time
  bool needs_spare = false;                       // running pods are moved only where a node is free for them
  bool prefers_same_domain = true;                // of spares

  Proof proof = Proof::failed_tests;
  Duration test_every = std::chrono::hours{1};  // so often is a held node tested anew

  std::vector<Duration> retests = {std::chrono::hours{24}, std::chrono::hours{72}};  // none: no probation
  Duration retest_patience = std::chrono::hours{24};                                 // for the last of them

  // What may be asked of others.
  std::vector<Action> requests = {Action::drain_then_reset_gpu, Action::reset_gpu,   Action::reboot_node,
                                  Action::restart_vm,           Action::power_cycle, Action::replace};
  friend bool operator==(const Rules&, const Rules&) = default;
};

struct Pool {
  std::string name;
  std::map<std::string, std::string, std::less<>> selector;  // labels that a node has, all of them
  Rules rules;
  friend bool operator==(const Pool&, const Pool&) = default;
};

using Labels = std::map<std::string, std::string, std::less<>>;

struct Policy {
  Rules rules;              // of nodes that no pool selects
  std::vector<Pool> pools;  // the first that selects a node has it

  static constexpr std::string_view kDefaultPool = "default";
  static constexpr std::size_t kMaxPools = 100;

  [[nodiscard]] std::string_view pool_of(const Labels& labels) const;
  // Those of kDefaultPool for a name that is none.
  [[nodiscard]] const Rules& of(std::string_view pool) const;
  friend bool operator==(const Policy&, const Policy&) = default;
};

// max(1, percent of so many).
[[nodiscard]] int share_of(std::size_t nodes, int percent);

// One YAML document. malformed lists every problem, "<name>:<line>: ...", and nothing of it is used. An empty
// document is a policy of defaults, which only observes.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text, std::string_view name);

}  // namespace autopilot::controller
