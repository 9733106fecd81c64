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

// The terms of policies, RemediationPlans, and the output about them.

// The actions that the planner can take. observe: record plans and send Events. hold: also move a pod whose
// pre-flight test failed, and cordon its node. act: also move running pods off nodes with the verdict EVICT,
// order diagnostics, and request resets, reboots and replacements.
enum class Mode : std::uint8_t { observe, hold, act };
[[nodiscard]] std::string_view to_string(Mode mode);
[[nodiscard]] std::optional<Mode> parse_mode(std::string_view word);

// Progress of a RemediationPlan.
enum class Phase : std::uint8_t {
  recorded,   // shows what another mode would do; nothing is done
  waiting,    // a brake prevents the hold of its node; it continues when the brake ends
  executing,  // started; not all of its steps are visible in the cluster
  held,       // the node is cordoned, until proof of its health
  undoing,    // proven healthy; the node is being returned
  probation,  // returned, and tested more often for a while
  over,
};
[[nodiscard]] std::string_view to_string(Phase phase);
[[nodiscard]] std::optional<Phase> parse_phase(std::string_view word);
// The plan has work left, or something to undo.
[[nodiscard]] inline bool is_open(Phase phase) {
  return phase != Phase::recorded && phase != Phase::over;
}

enum class ActionKind : std::uint8_t {
  cordon,    // sets spec.unschedulable and the annotation that names the plan, in one write
  uncordon,  // removes both, in one write
  release,   // removes only the annotation: another program or person has uncordoned the node, or owns the
             // cordon now
  taint,     // sets the soft taint and the annotation of probation, in one write; also updates them
  remove_taint,  // removes both
  evict_pod,     // uses the Eviction API
  delete_pod,    // used instead if the policy sets it
  deep_test,     // orders a deep diagnostic from the agent of the node
  request,       // creates a RemediationRequest
  event,         // creates an Event
  mark_report,   // writes the status of a HealthCheckReport
};
[[nodiscard]] std::string_view to_string(ActionKind kind);
// The action removes a pod from its node.
[[nodiscard]] inline bool is_removal(ActionKind kind) {
  return kind == ActionKind::evict_pod || kind == ActionKind::delete_pod;
}
[[nodiscard]] std::optional<ActionKind> parse_action_kind(std::string_view word);

// Result of a pre-flight test that did not pass or did not run.
enum class Outcome : std::uint8_t { started, failed, could_not_look };
[[nodiscard]] std::string_view to_string(Outcome outcome);
[[nodiscard]] std::optional<Outcome> parse_outcome(std::string_view word);

// Progress of a HealthCheckReport.
enum class ReportPhase : std::uint8_t { pending, planned, acted, undone, expired };
[[nodiscard]] std::string_view to_string(ReportPhase phase);
[[nodiscard]] std::optional<ReportPhase> parse_report_phase(std::string_view word);

// Why a plan does not hold its node yet, or does not move running pods off it.
enum class BrakeKind : std::uint8_t {
  breaker,      // too many nodes of the pool failed at once
  unknown,      // the health of the node is unknown
  stale,        // the last report of the node is too old
  pool_budget,  // the limit of held nodes of the pool is reached
  domain_budget,
  job_budget,
  rate,
  settling,       // the finding is recent: other nodes can fail for the same cause
  others_cordon,  // another program or person has cordoned the node and decides about it
  exempt,         // an operator has excluded the node from holds
};
[[nodiscard]] std::string_view to_string(BrakeKind kind);

// The facts about the objects of a cluster that the planner uses. Reconcilers read them from the API.

// The annotation of a node that we cordoned.
struct Hold {
  std::string plan;
  WallTime since{};
  friend bool operator==(const Hold&, const Hold&) = default;
};

// The annotation of a node that we returned a while ago.
struct Probation {
  std::string plan;
  WallTime until{};
  WallTime next{};  // when the next test is due
  friend bool operator==(const Probation&, const Probation&) = default;
};

// An open incident that alone makes the verdict of its node EVICT, or the accusation of a job. Injected
// incidents are left out.
struct OpenCause {
  std::string incident;  // id
  std::string cause;     // id in catalog/causes.yaml, otherwise the reason of the finding
  std::string blamed;    // "gpu/0000:3b:00.0"
  Action action = Action::none;
  WallTime since{};
  bool is_passive = true;  // false: found by a test of the devices
  // The in-flight engine accuses the node on behalf of a job (`incident`: id of its finding). It counts
  // whatever the verdict of the node is.
  bool is_of_job = false;
  bool keeps_pods = false;  // the node is held, but its running pods stay: they wait for a checkpoint
  // The node is a lemon according to the history of the cluster: `lemon` states why. It counts whatever the
  // verdict of the node is.
  std::string lemon = {};
  friend bool operator==(const OpenCause&, const OpenCause&) = default;
};

// Cause of the plan that holds a lemon.
inline constexpr std::string_view kLemonCause = "lemon";

// A node that has several times the faults of its kind, according to the history of the cluster.
struct Lemon {
  std::string node;
  WallTime last_fault{};  // begin of the last of them
  std::string why;        // one sentence with the data that it is based on
  friend bool operator==(const Lemon&, const Lemon&) = default;
};

// What one search in the history of the cluster found.
struct LemonSearch {
  std::vector<Lemon> lemons;
  // By node: begin of its last own fault. Nothing is known of nodes that are not named: the history can be
  // younger than their faults.
  std::map<std::string, WallTime, std::less<>> last_faults;
  friend bool operator==(const LemonSearch&, const LemonSearch&) = default;
};

struct Node {
  std::string name;
  std::string uid;
  std::string version;  // resourceVersion
  std::string pool;     // Policy::pool_of its labels
  std::string domain;   // failure domain; empty: no label defines one
  int gpus = 0;         // capacity, including lost GPUs; the planner ignores nodes without any
  bool is_ready = true;
  bool is_unschedulable = false;
  std::optional<Hold> held;
  bool has_held_label = false;         // the label that accompanies the annotation
  bool is_exempt = false;              // an operator has excluded it from holds
  std::optional<Probation> probation;  // set if the node has both the taint and the annotation
  std::optional<Verdict> verdict;      // written by its agent; nullopt: unknown
  bool is_unknown = false;             // a required check could not run
  std::optional<WallTime> looked;      // time of the last report of its agent
  std::vector<OpenCause> causes;
  // Time at which each test last passed on every GPU of the node, by its id: the oldest pass among the GPUs.
  std::map<std::string, WallTime, std::less<>> passed;
  std::optional<WallTime> wants_test;    // its agent requests a deep diagnostic since then
  std::optional<WallTime> granted_test;  // permitted since then, and not ended or given up yet
  kube::Labels labels;
  std::vector<kube::Taint> taints;
  friend bool operator==(const Node&, const Node&) = default;
};

// The controlling owner of a pod, or the owner of that: the job.
struct Owner {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  friend bool operator==(const Owner&, const Owner&) = default;
};

// A pod that has not ended.
struct Pod {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string node;            // empty: not placed yet
  std::optional<Owner> owner;  // nullopt: no controller recreates it
  std::optional<Owner> set;    // the owner of its owner, such as a JobSet, from its labels
  int gpus = 0;                // requested GPUs
  std::int64_t priority = 0;
  bool is_gated = false;  // its pre-flight container runs, waits or has failed: no container of the user runs
  bool is_deleting = false;
  bool has_deschedule = false;  // it has the label `deschedule`
  kube::Placement placement;
  friend bool operator==(const Pod&, const Pod&) = default;
};

struct FailedTest {
  std::string test;     // "gpu.pcie_bandwidth"
  std::string reason;   // a reason of the catalog
  std::string message;  // one sentence
  friend bool operator==(const FailedTest&, const FailedTest&) = default;
};

// A HealthCheckReport: the result of a test on the pod's own GPUs, from the agent of the node.
struct Report {
  std::string name;
  std::string node;
  std::string pod_namespace;
  std::string pod;
  std::string pod_uid;
  std::optional<Owner> owner;
  Outcome outcome = Outcome::failed;
  bool is_let_in = false;  // the pod starts although a test failed
  std::vector<FailedTest> failed;
  std::string message;
  WallTime time{};
  ReportPhase phase = ReportPhase::pending;
  friend bool operator==(const Report&, const Report&) = default;
};

// Why an action is postponed.
struct Brake {
  BrakeKind kind = BrakeKind::unknown;
  std::string why;  // one sentence
};

// A completed step: the API server has accepted it. The removal of a pod is recorded before the request is
// sent, so that it counts although the response is lost, and a pod that was never asked to leave is asked
// without waiting.
struct DoneStep {
  ActionKind kind = ActionKind::event;
  std::string target;  // PlannedAction::target_key
  WallTime at{};
  bool is_counted = false;  // against the rate of evictions
  friend bool operator==(const DoneStep&, const DoneStep&) = default;
};

// A RemediationPlan: one decision about one node. All plans together are the memory of the planner.
struct LedgerEntry {
  std::string name;
  std::string version;  // resourceVersion; empty: not written yet
  std::string node;
  std::string node_uid;
  std::string pool;
  std::string domain;
  std::vector<std::string> jobs;      // uids of the owners of affected pods
  std::string cause;                  // for people: the first test or cause
  std::vector<std::string> evidence;  // names of reports, ids of incidents
  std::vector<std::string> tests;     // failed tests; a pass of them is the proof of health
  WallTime latest_evidence{};
  Phase phase = Phase::waiting;
  bool holds = false;        // it holds its node or is about to, and counts against the budgets
  bool is_released = false;  // a person returned the node: it is not held again for the same evidence
  WallTime created{};
  WallTime updated{};
  std::optional<WallTime> begun;     // start of the hold; its cordon can have been lost
  std::optional<WallTime> returned;  // when the node was returned
  std::string brake;                 // name of the BrakeKind that it waits for
  std::string message;               // current state, for people
  std::string budget;                // state of the budgets at the decision
  std::string spare;                 // a node that can take the pods
  std::vector<std::string> steps;    // the decided actions, for people
  std::vector<DoneStep> done;        // oldest first
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;

  static constexpr std::size_t kMaxEvidence = 64;  // names; the first and the newest stay
  static constexpr std::size_t kMaxDone = 128;     // the newest stay
  static constexpr std::size_t kMaxSteps = 64;     // the first stay
  static constexpr std::size_t kMaxJobs = 64;      // the first stay
};

[[nodiscard]] bool has_done(const LedgerEntry& entry, ActionKind kind, std::string_view target);
// Time of the last completed step of that kind; nullopt: none.
[[nodiscard]] std::optional<WallTime> last_done(const LedgerEntry& entry, ActionKind kind);
// Adds the step, or updates the time of the same step.
void note_done(LedgerEntry& entry, DoneStep step);
void note_evidence(LedgerEntry& entry, std::string_view name);
void note_job(LedgerEntry& entry, std::string_view uid);

}  // namespace autopilot::controller
