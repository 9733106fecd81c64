// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/planner/words.hpp"
#include "core/action.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "kube/objects.hpp"
#include "kube/placement.hpp"

// What the planner is told of the objects of a cluster. Plain facts: who reads them from the API makes them.
namespace autopilot::controller {

// The annotation of a node that we cordoned.
struct Hold {
  std::string plan;
  WallTime since{};
  friend bool operator==(const Hold&, const Hold&) = default;
};

// The annotation of a node that we gave back a while ago.
struct Probation {
  std::string plan;
  WallTime until{};
  WallTime next{};  // when the next test is due
  friend bool operator==(const Probation&, const Probation&) = default;
};

// An open incident that by itself makes the verdict of its node EVICT. Injected ones are none.
struct OpenCause {
  std::string incident;  // id
  std::string cause;     // id in catalog/causes.yaml, else the reason of the finding
  std::string blamed;    // "gpu/0000:3b:00.0"
  Action action = Action::none;
  WallTime since{};
  bool is_passive = true;  // false: a test of the devices has shown it
  friend bool operator==(const OpenCause&, const OpenCause&) = default;
};

struct Node {
  std::string name;
  std::string uid;
  std::string version;  // resourceVersion
  std::string pool;     // Policy::pool_of its labels
  std::string domain;   // failure domain; empty: no label tells
  int gpus = 0;         // capacity: one that was lost is still its business. Without any it is nobody's here
  bool is_ready = true;
  bool is_unschedulable = false;
  std::optional<Hold> held;
  bool has_held_label = false;         // which goes with the annotation
  bool is_exempt = false;              // an operator lets it never be held
  std::optional<Probation> probation;  // where taint and annotation both stand
  std::optional<Verdict> verdict;      // as its agent wrote it; nothing: nobody tells
  bool is_unknown = false;             // a required check has not looked
  std::optional<WallTime> looked;      // when its agent last told how it is
  std::vector<OpenCause> causes;
  // When a test last passed on every GPU of the node, by its id: the oldest pass among the GPUs.
  std::map<std::string, WallTime, std::less<>> passed;
  std::optional<WallTime> wants_test;    // its agent asks since then to reserve the node for a deep test
  std::optional<WallTime> granted_test;  // when it was told that it may, and did not end or give up yet
  kube::Labels labels;
  std::vector<kube::Taint> taints;
  friend bool operator==(const Node&, const Node&) = default;
};

// The controller of a pod, or what controls that: the job.
struct Owner {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  friend bool operator==(const Owner&, const Owner&) = default;
};

// One that has ended is none any more.
struct Pod {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string node;            // empty: not placed yet
  std::optional<Owner> owner;  // nothing: nobody makes it again
  std::optional<Owner> set;    // what made its owner and others that belong together, as its labels say
  int gpus = 0;                // that it requests
  std::int64_t priority = 0;
  bool is_gated = false;  // its pre-flight container runs, waits or has failed: nothing of the user runs
  bool is_deleting = false;
  bool has_deschedule = false;  // the label of whoever may write the pod
  kube::Placement placement;
  friend bool operator==(const Pod&, const Pod&) = default;
};

struct FailedTest {
  std::string test;     // "gpu.pcie_bandwidth"
  std::string reason;   // a word of the catalog
  std::string message;  // one sentence
  friend bool operator==(const FailedTest&, const FailedTest&) = default;
};

// A HealthCheckReport: what the agent of the node says of a test on the pod's own GPUs.
struct Report {
  std::string name;
  std::string node;
  std::string pod_namespace;
  std::string pod;
  std::string pod_uid;
  std::optional<Owner> owner;
  Outcome outcome = Outcome::failed;
  bool is_let_in = false;  // the pod starts though a test failed
  std::vector<FailedTest> failed;
  std::string message;
  WallTime time{};
  ReportPhase phase = ReportPhase::pending;
  friend bool operator==(const Report&, const Report&) = default;
};

}  // namespace autopilot::controller
