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

// A test that was begun for this question.
struct MadeTest {
  std::string operation;              // empty: it could not be begun
  std::optional<JudgedTest> verdict;  // when it has ended and told something
  std::string not_told;               // why it told nothing, in a sentence; with no verdict: it is under way
  bool is_durable = true;             // the verdict is known after a crash as well
  [[nodiscard]] bool is_under_way() const { return !verdict && not_told.empty(); }
};

// A test that can be made while a pod has its GPUs.
struct OfferedTest {
  std::string id;
  bool is_of_host = false;        // leaves the GPUs alone
  bool is_between_nodes = false;  // of the host, and of nodes that it asks
};

// All that a decision rests on.
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
};

// A finding, and the check that says so.
struct GateFinding {
  std::string check;
  Finding finding;
};

struct GateDecision {
  // open: the GPUs are proven sound. run: `run` must be begun, the rest may be under way. wait: for what is
  // under way, or for the node. refuse: `outcome` says why not.
  enum class Kind : unsigned char { open, run, wait, refuse };
  Kind kind = Kind::wait;
  api::PreflightOutcome outcome = api::PreflightOutcome::could_not_look;  // of open and refuse
  std::vector<std::string> run;
  std::vector<api::PreflightTest> tests;  // each wanted one, as it is now
  std::vector<GateFinding> findings;      // what is wrong, or could not be looked at
  std::string message;                    // all of it in a sentence
};

// How they are, in one sentence; where some failed, these alone.
[[nodiscard]] std::string message_of(std::span<const api::PreflightTest> tests);

// A proof counts when it is of these GPUs and of this boot, and no older than max_age. What an incident took
// away is not among them any more (PassBook). A node whose verdict is EVICT, or on which EVICT stands, opens
// for nobody. Pure.
[[nodiscard]] GateDecision decide(const GateWorld& world);

// Whether the node came back not long ago: `<prefix>/probation` names a time that is still to come. What
// cannot be read counts as such: who wrote it wanted the node to be looked at more closely. Pure.
[[nodiscard]] bool is_on_probation(const kube::Node& node, const std::string& prefix, WallTime now);

}  // namespace autopilot::preflight
