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

// The limits that an operator sets for the planner (docs/remediation.md).
namespace autopilot::controller {

// Handling of a pod whose pre-flight test could not run.
enum class CouldNotLook : std::uint8_t { start, stop };
[[nodiscard]] std::string_view to_string(CouldNotLook what);

// The proof of health that returns a node.
enum class Proof : std::uint8_t {
  failed_tests,  // a pass of the failed tests, or a deep diagnostic
  deep_test,
};
[[nodiscard]] std::string_view to_string(Proof proof);

// The rules for the nodes of one pool. Percentages round down, but to at least one node.
struct Rules {
  Mode mode = Mode::observe;

  // Limit of nodes that are held at the same time, of all nodes.
  int pool_percent = 10;
  int domain_percent = 10;
  int job_percent = 10;      // of the nodes of the job
  int testing_percent = 10;  // nodes in service that are reserved for a deep diagnostic

  int holds_per_hour = 6;       // in the pool
  int evictions_per_hour = 30;  // of running pods in the pool

  // If this many nodes of the pool fail within the window for one cause, the cause is not in the nodes.
  int breaker_nodes = 3;
  int breaker_percent = 5;
  Duration breaker_window = std::chrono::minutes{30};
  // Time for which a passive finding must last before the planner acts: it can be the first of many.
  Duration breaker_settle = std::chrono::minutes{1};

  Duration stale_after = std::chrono::minutes{15};  // three heartbeats of an agent
  Duration report_age = std::chrono::hours{1};      // older reports are not evidence
  CouldNotLook could_not_look = CouldNotLook::start;

  bool deletes_pods = false;  // instead of evicting them
  Duration job_interval =
      std::chrono::hours{6};        // within this time, running pods of a job are moved off one node only
  bool needs_spare = false;         // running pods are moved only if a node is free for them
  bool prefers_same_domain = true;  // for spare nodes

  Proof proof = Proof::failed_tests;
  Duration test_every = std::chrono::hours{1};  // interval of tests of a held node

  std::vector<Duration> retests = {std::chrono::hours{24},
                                   std::chrono::hours{72}};  // after the return; empty: no probation
  Duration retest_patience = std::chrono::hours{24};         // longest wait for the last of them

  bool holds_lemons = false;  // in mode act; otherwise their plans are only recorded

  // Actions that can be requested from other programs.
  std::vector<Action> requests = {Action::drain_then_reset_gpu, Action::reset_gpu,   Action::reboot_node,
                                  Action::restart_vm,           Action::power_cycle, Action::replace};
  friend bool operator==(const Rules&, const Rules&) = default;
};

struct Pool {
  std::string name;
  std::map<std::string, std::string, std::less<>> selector;  // labels; a node must have all of them
  Rules rules;
  friend bool operator==(const Pool&, const Pool&) = default;
};

using Labels = std::map<std::string, std::string, std::less<>>;

struct Policy {
  Rules rules;              // of nodes outside every pool
  std::vector<Pool> pools;  // the first pool that selects a node applies

  static constexpr std::string_view kDefaultPool = "default";
  static constexpr std::size_t kMaxPools = 100;

  [[nodiscard]] std::string_view pool_of(const Labels& labels) const;
  // Rules of that pool; of kDefaultPool if the name is unknown.
  [[nodiscard]] const Rules& of(std::string_view pool) const;
  friend bool operator==(const Policy&, const Policy&) = default;
};

// max(1, `percent` of `nodes`).
[[nodiscard]] int share_of(std::size_t nodes, int percent);

// Parses one YAML document. malformed: lists every problem as "<name>:<line>: ..."; nothing of it is used. An
// empty document is the default policy, which only observes.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text, std::string_view name);

}  // namespace autopilot::controller
