// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/action.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "kube/objects.hpp"
#include "kube/placement.hpp"

namespace autopilot::controller {

// The words of policies, RemediationPlans and what is printed of them.

// What the planner may do. observe: record plans and tell. hold: also move a pod whose pre-flight test
// failed, and cordon its node. act: also move running pods off nodes with the verdict EVICT, have nodes
// tested, and ask others for resets, reboots and replacements.
enum class Mode : std::uint8_t { observe, hold, act };
[[nodiscard]] std::string_view to_string(Mode mode);
[[nodiscard]] std::optional<Mode> parse_mode(std::string_view word);

// How far a RemediationPlan is.
enum class Phase : std::uint8_t {
  recorded,   // what would be done; nothing of it will be
  waiting,    // something keeps it from holding its node; it holds it when nothing does any more
  executing,  // begun; not every step of it shows
  held,       // the node is cordoned, and waits for proof of its health
  undoing,    // proven healthy; the node is being given back
  probation,  // given back, and looked at more closely for a while
  over,
};
[[nodiscard]] std::string_view to_string(Phase phase);
[[nodiscard]] std::optional<Phase> parse_phase(std::string_view word);
// It has something left to do, or to undo.
[[nodiscard]] inline bool is_open(Phase phase) {
  return phase != Phase::recorded && phase != Phase::over;
}

enum class ActionKind : std::uint8_t {
  cordon,        // spec.unschedulable and the annotation that names the plan, in one write
  uncordon,      // both away, in one write
  release,       // the annotation alone: somebody else has uncordoned the node, or cordons it now
  taint,         // the soft taint and the annotation of probation, in one write; also where they stand
  remove_taint,  // both away
  evict_pod,     // by the Eviction API
  delete_pod,    // in place of that, where the policy says so
  deep_test,     // have the agent of the node make one
  request,       // file a RemediationRequest
  event,         // tell people
  mark_report,   // status of a HealthCheckReport
};
[[nodiscard]] std::string_view to_string(ActionKind kind);
// It takes a pod off its node.
[[nodiscard]] inline bool is_removal(ActionKind kind) {
  return kind == ActionKind::evict_pod || kind == ActionKind::delete_pod;
}
[[nodiscard]] std::optional<ActionKind> parse_action_kind(std::string_view word);

// How a pre-flight test of a pod ended that did not pass, or that was not made.
enum class Outcome : std::uint8_t { started, failed, could_not_look };
[[nodiscard]] std::string_view to_string(Outcome outcome);
[[nodiscard]] std::optional<Outcome> parse_outcome(std::string_view word);

// What became of a HealthCheckReport.
enum class ReportPhase : std::uint8_t { pending, planned, acted, undone, expired };
[[nodiscard]] std::string_view to_string(ReportPhase phase);
[[nodiscard]] std::optional<ReportPhase> parse_report_phase(std::string_view word);

// What keeps a plan from holding its node, or from moving running pods off it.
enum class BrakeKind : std::uint8_t {
  breaker,      // too many nodes of the pool turned bad at once
  unknown,      // nobody tells how the node is
  stale,        // what is told of it is old
  pool_budget,  // as many nodes are held as may be
  domain_budget,
  job_budget,
  rate,
  settling,       // seen a moment ago: others may turn bad of the same
  others_cordon,  // somebody else's, who decides about the node
  exempt,         // an operator lets the node never be held
};
[[nodiscard]] std::string_view to_string(BrakeKind kind);

// What the planner is told of the objects of a cluster. Plain facts: who reads them from the API makes them.

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

// Why something is not done now.
struct Brake {
  BrakeKind kind = BrakeKind::unknown;
  std::string why;  // one sentence
};

// A step that was answered by the API server: it has been done. That a pod shall go stands here right before
// it is asked: it counts though no answer comes, and who was never asked does not wait to be asked again.
struct DoneStep {
  ActionKind kind = ActionKind::event;
  std::string target;  // PlannedAction::target_key
  WallTime at{};
  bool is_counted = false;  // against the rate of evictions
  friend bool operator==(const DoneStep&, const DoneStep&) = default;
};

// A RemediationPlan: one decision about one node. All of them together are the memory of the planner.
struct LedgerEntry {
  std::string name;
  std::string version;  // resourceVersion; empty: not written yet
  std::string node;
  std::string node_uid;
  std::string pool;
  std::string domain;
  std::vector<std::string> jobs;      // uids of the owners whose pods it concerns
  std::string cause;                  // for people: the test or the cause that came first
  std::vector<std::string> evidence;  // names of reports, ids of incidents
  std::vector<std::string> tests;     // that failed: proof is that they pass
  WallTime latest_evidence{};
  Phase phase = Phase::waiting;
  bool holds = false;        // its node, or is about to: counts against the budgets
  bool is_released = false;  // a person gave the node back: not held again for the same evidence
  WallTime created{};
  WallTime updated{};
  std::optional<WallTime> begun;     // when it began to hold its node; its cordon may have been lost
  std::optional<WallTime> returned;  // when the node was given back
  std::string brake;                 // word of what it waits for
  std::string message;               // where it stands, for people
  std::string budget;                // how the budgets stood when it was decided
  std::string spare;                 // a node where the pods may go
  std::vector<std::string> steps;    // what was decided, for people
  std::vector<DoneStep> done;        // oldest first
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;

  static constexpr std::size_t kMaxEvidence = 64;  // names; the first and the newest stay
  static constexpr std::size_t kMaxDone = 128;     // the newest stay
  static constexpr std::size_t kMaxSteps = 64;     // the first stay
  static constexpr std::size_t kMaxJobs = 64;      // the first stay
};

[[nodiscard]] bool has_done(const LedgerEntry& entry, ActionKind kind, std::string_view target);
// When a step of that kind was last done; nothing: never.
[[nodiscard]] std::optional<WallTime> last_done(const LedgerEntry& entry, ActionKind kind);
// Adds it, or renews its time where it stands.
void note_done(LedgerEntry& entry, DoneStep step);
void note_evidence(LedgerEntry& entry, std::string_view name);
void note_job(LedgerEntry& entry, std::string_view uid);

}  // namespace autopilot::controller
