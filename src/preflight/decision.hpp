// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/preflight.hpp"
#include "core/clock.hpp"
#include "core/finding.hpp"
#include "core/operation.hpp"
#include "core/snapshot.hpp"
#include "incidents/finding_tracker.hpp"
#include "kube/objects.hpp"
#include "preflight/held_gpus.hpp"
#include "preflight/test_verdict.hpp"

namespace autopilot::preflight {

// A diagnostic that was started for this question.
struct MadeTest {
  std::string operation;              // empty: it could not begin
  std::optional<JudgedTest> verdict;  // not set: no result
  std::string not_told;               // why there is no result, in a sentence; empty without verdict: it runs
  bool is_durable = true;             // the verdict survives a crash
  [[nodiscard]] bool is_under_way() const { return !verdict && not_told.empty(); }
};

// A diagnostic that can run while a pod has its GPUs.
struct OfferedTest {
  std::string id;
  bool is_of_host = false;        // does not use the GPUs
  bool is_between_nodes = false;  // of the host, with other nodes as peers
};

// Inputs of a decision.
struct GateWorld {
  std::span<const std::string> wanted;  // ids of tests
  std::span<const OfferedTest> offered;
  const HeldGpus& held;
  const NodeSnapshot& snapshot;
  std::span<const PassRecord> passes;
  const std::map<std::string, MadeTest>& made;  // by test
  Duration max_age{0};
  WallTime now{};
  incidents::ReasonLookup reasons{};  // see incidents::VerdictInput
  std::string why_evicted{};          // see incidents::why_it_stays
  WallTime proofs_since{};            // an older pass record does not count
};

// A finding and its check.
struct GateFinding {
  std::string check;
  Finding finding;
};

struct GateDecision {
  // open: the GPUs have passed. run: start the diagnostics in `run`; others may be running. wait: for running
  // diagnostics, or for the node. refuse: for the reason in `outcome`.
  enum class Kind : unsigned char { open, run, wait, refuse };
  Kind kind = Kind::wait;
  api::PreflightOutcome outcome = api::PreflightOutcome::could_not_look;  // of open and refuse
  std::vector<std::string> run;
  std::vector<api::PreflightTest> tests;  // present state of each wanted test
  std::vector<GateFinding> findings;      // of failed tests and of tests without a result
  std::string message;                    // summary in one sentence
};

// Summary of the tests in one sentence; only of the failed ones if any failed.
[[nodiscard]] std::string message_of(std::span<const api::PreflightTest> tests);

// A pass record counts if it is of these GPUs and of this boot, and not older than max_age; an incident
// removes records (PassBook). A node with the verdict or the written label EVICT admits no pod. Pure.
[[nodiscard]] GateDecision decide(const GateWorld& world);

// True if the node has returned recently: `<prefix>/probation` is a time in the future. A malformed value
// counts as true, because its writer intended a probation. Pure.
[[nodiscard]] bool is_on_probation(const kube::Node& node, const std::string& prefix, WallTime now);

}  // namespace autopilot::preflight
