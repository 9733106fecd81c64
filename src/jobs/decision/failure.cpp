// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/failure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace autopilot::jobs {
namespace {

using namespace std::chrono_literals;

// The kernel logs a fault of hardware after the program has noticed it.
constexpr Duration kKernelDelay = 60s;
// Only ranks without a record are named, if they are few: at most one in ten.
constexpr std::size_t kSilentPart = 10;

struct FailureCause {
  FailureKind kind = FailureKind::unclear;
  CauseStrength strength = CauseStrength::vague;
  std::string key;
  WallTime time{};
  WallTime rank_time{};              // by which equally strong causes are compared
  const RankRecord* rank = nullptr;  // not set for an event of a node
  Entity culprit;
  std::string sentence;
  std::string text;  // evidence
};

using RanksByNumber = std::map<int, const RankRecord*>;

std::string place_of_rank(const RankRecord& rank) {
  std::string place = "rank " + std::to_string(rank.rank) + " on " + rank.node;
  if (rank.gpu) place += ", GPU " + std::to_string(*rank.gpu);
  return place;
}

struct SignalMeaning {
  int signal;
  std::string_view key;
  FailureKind kind;
  CauseStrength strength;
  std::string_view sentence;
};

constexpr auto kExitSignals = std::to_array<SignalMeaning>({
    {1, "stopped", FailureKind::unclear, CauseStrength::consequence, "The process was stopped from outside"},
    {2, "stopped", FailureKind::unclear, CauseStrength::consequence, "The process was stopped from outside"},
    {4, "crash", FailureKind::application, CauseStrength::vague, "The program crashed"},
    {6, "abort", FailureKind::unclear, CauseStrength::vague, "The program ended itself"},
    {7, "crash", FailureKind::application, CauseStrength::vague, "The program crashed"},
    {8, "crash", FailureKind::application, CauseStrength::vague, "The program crashed"},
    {9, "killed", FailureKind::unclear, CauseStrength::vague, "The process was killed, by an unknown sender"},
    {11, "crash", FailureKind::application, CauseStrength::vague, "The program crashed"},
    {15, "stopped", FailureKind::unclear, CauseStrength::consequence, "The process was stopped from outside"},
});

// The signal that ended the process; shells and launchers report 128 + signal, or -signal.
std::optional<int> signal_of(const ExitRecord& exit) {
  if (exit.signal && *exit.signal > 0) return exit.signal;
  if (!exit.code) return std::nullopt;
  if (*exit.code < 0 && *exit.code > -65) return -*exit.code;
  if (*exit.code > 128 && *exit.code < 128 + 65) return *exit.code - 128;
  return std::nullopt;
}

std::optional<FailureCause> cause_of_exit(const ExitRecord& exit, const RankRecord& rank) {
  FailureCause cause;
  cause.time = cause.rank_time = exit.time;
  cause.rank = &rank;
  if (exit.oom) {
    cause.kind = FailureKind::application;
    cause.strength = CauseStrength::specific;
    cause.key = "host_out_of_memory";
    cause.sentence = "The kernel killed a process for memory";
    cause.text = "The process of " + place_of_rank(rank) + " was killed for memory";
    return cause;
  }
  const auto signal = signal_of(exit);
  if (!signal && exit.code.value_or(0) == 0) return std::nullopt;
  cause.key = "exit_code";
  cause.sentence = "The process ended for a reason that it did not state";
  if (signal) {
    cause.key = "signal";
    const auto* known = std::find_if(kExitSignals.begin(), kExitSignals.end(),
                                     [&](const SignalMeaning& held) { return held.signal == *signal; });
    if (known != kExitSignals.end()) {
      cause.key = known->key;
      cause.kind = known->kind;
      cause.strength = known->strength;
      cause.sentence = known->sentence;
    }
  }
  cause.text =
      "The process of " + place_of_rank(rank) + " ended with " +
      (signal ? "signal " + std::to_string(*signal) : "exit code " + std::to_string(exit.code.value_or(0)));
  return cause;
}

std::optional<FailureCause> cause_of_log(const LogRecord& log, const RanksByNumber& ranks) {
  auto words = read_last_words(log.text);
  if (!words) return std::nullopt;
  auto rank = ranks.find(words->rank.value_or(log.rank));
  if (rank == ranks.end()) rank = ranks.find(log.rank);
  if (rank == ranks.end()) return std::nullopt;
  FailureCause cause;
  cause.kind = words->kind;
  cause.strength = words->strength;
  cause.key = words->key;
  cause.time = cause.rank_time = log.time;
  cause.rank = rank->second;
  cause.sentence = words->sentence;
  cause.text = "Log of " + place_of_rank(*rank->second) + ": " + words->line;
  if (words->kind == FailureKind::hardware) {
    const RankRecord& held = *rank->second;
    if (words->names_gpu && held.gpu)
      cause.culprit = {EntityKind::gpu, held.node, *held.gpu, {}};
    else
      cause.culprit = {EntityKind::host, held.node, -1, {}};
  } else if (words->key.starts_with("storage")) {
    cause.culprit = {EntityKind::storage, {}, -1, {}};
  }
  return cause;
}

FailureCause cause_of_pod(const PodRecord& pod, const RankRecord& rank) {
  FailureCause cause;
  cause.kind = FailureKind::infrastructure;
  cause.strength = CauseStrength::specific;
  cause.time = cause.rank_time = pod.time;
  cause.rank = &rank;
  switch (pod.reason) {
    case PodReason::evicted:
      cause.key = "evicted";
      cause.sentence = "A pod was evicted";
      break;
    case PodReason::preempted:
      cause.key = "preempted";
      cause.sentence = "A pod was preempted by one of higher priority";
      break;
    case PodReason::node_shutdown:
      cause.key = "node_shutdown";
      cause.sentence = "A node was shut down";
      break;
    case PodReason::deleted:
      cause.key = "deleted";
      cause.strength = CauseStrength::vague;  // controllers delete the pods of a job that failed, too
      cause.sentence = "A pod was deleted";
      break;
  }
  cause.text = "The pod of " + place_of_rank(rank) + ": " + cause.key;
  return cause;
}

FailureCause cause_of_event(const Event& event) {
  FailureCause cause;
  const bool is_lost = event.key == "node_lost";
  cause.kind = is_lost ? FailureKind::infrastructure : FailureKind::hardware;
  // Jobs survive a link that is down for seconds, and most degraded parts.
  const bool is_sure = event.event_class != EventClass::degraded && event.entity.kind != EntityKind::nic;
  cause.strength = is_sure ? CauseStrength::specific : CauseStrength::vague;
  cause.key = event.key;
  cause.time = cause.rank_time = event.time;
  cause.culprit = event.entity;
  cause.sentence = event.text;
  cause.text = event.text;
  return cause;
}

bool is_better_cause(const FailureCause& a, const FailureCause& b) {
  const int rank_a = a.rank == nullptr ? -1 : a.rank->rank;
  const int rank_b = b.rank == nullptr ? -1 : b.rank->rank;
  return std::tie(a.strength, a.rank_time, rank_a, a.key) < std::tie(b.strength, b.rank_time, rank_b, b.key);
}

RanksByNumber ranks_by_number(const JobRecord& job) {
  RanksByNumber ranks;
  for (const RankRecord& rank : job.ranks)
    ranks.emplace(rank.rank, &rank);
  return ranks;
}

// The strongest statement of each rank: its log explains its exit.
void keep_cause_of_rank(std::map<int, FailureCause>& causes, FailureCause cause, bool is_log) {
  const int rank = cause.rank->rank;
  const auto held = causes.find(rank);
  if (held == causes.end()) {
    causes.emplace(rank, std::move(cause));
    return;
  }
  const bool explains_exit = is_log && cause.strength == CauseStrength::consequence &&
                             held->second.strength == CauseStrength::vague &&
                             held->second.kind != FailureKind::infrastructure;
  if (explains_exit || is_better_cause(cause, held->second)) held->second = std::move(cause);
}

std::map<int, FailureCause> causes_of_ranks(const FailureInputs& inputs, const RanksByNumber& ranks) {
  std::map<int, FailureCause> causes;
  for (const ExitRecord& exit : inputs.exits) {
    const auto rank = ranks.find(exit.rank);
    if (rank == ranks.end()) continue;
    if (auto cause = cause_of_exit(exit, *rank->second)) keep_cause_of_rank(causes, std::move(*cause), false);
  }
  std::vector<const LogRecord*> logs;
  for (const LogRecord& log : inputs.logs)
    logs.push_back(&log);
  std::stable_sort(logs.begin(), logs.end(),
                   [](const LogRecord* a, const LogRecord* b) { return a->time < b->time; });
  logs.resize(std::min(logs.size(), kMaxLogsRead));
  for (const LogRecord* log : logs)
    if (auto cause = cause_of_log(*log, ranks)) keep_cause_of_rank(causes, std::move(*cause), true);
  for (const PodRecord& pod : inputs.pods) {
    const auto rank = ranks.find(pod.rank);
    if (rank != ranks.end()) keep_cause_of_rank(causes, cause_of_pod(pod, *rank->second), false);
  }
  return causes;
}

// Time by which an event competes with what the ranks of its node state.
void compare_with_ranks(FailureCause& event, const std::map<int, FailureCause>& causes) {
  for (const auto& [number, cause] : causes)
    if (cause.rank->node == event.culprit.node && event.time <= cause.time + kKernelDelay)
      event.rank_time = std::min(event.rank_time, cause.time - 1ns);
}

// Ranks that left no record, if they are few.
std::vector<const RankRecord*> silent_ranks(const JobRecord& job, const std::map<int, FailureCause>& causes,
                                            const FailureInputs& inputs) {
  std::set<int> heard;
  for (const auto& [number, cause] : causes)
    heard.insert(number);
  for (const ExitRecord& exit : inputs.exits)
    heard.insert(exit.rank);
  std::vector<const RankRecord*> silent;
  for (const RankRecord& rank : job.ranks)
    if (!heard.contains(rank.rank)) silent.push_back(&rank);
  const bool are_few =
      !silent.empty() && silent.size() <= std::max<std::size_t>(1, job.ranks.size() / kSilentPart);
  return are_few && job.ranks.size() > 2 ? silent : std::vector<const RankRecord*>{};
}

std::vector<std::string> missing_sources(const FailureInputs& inputs) {
  std::vector<std::string> missing;
  if (inputs.exits.empty()) missing.emplace_back("ends of processes");
  if (inputs.logs.empty()) missing.emplace_back("last words of logs");
  if (inputs.logs.size() > kMaxLogsRead)
    missing.push_back("last words of " + std::to_string(inputs.logs.size() - kMaxLogsRead) +
                      " more logs (limit " + std::to_string(kMaxLogsRead) + ")");
  if (!inputs.has_node_events) missing.emplace_back("Xids and findings of nodes");
  return missing;
}

void set_failure_place(Failure& failure, const FailureCause& cause) {
  if (cause.rank != nullptr) {
    failure.rank = cause.rank->rank;
    failure.node = cause.rank->node;
    failure.gpu = cause.rank->gpu;
    return;
  }
  failure.node = cause.culprit.node;
  if (cause.culprit.kind == EntityKind::gpu) failure.gpu = cause.culprit.gpu;
}

Evidence evidence_of_cause(const FailureCause& cause) {
  Evidence evidence;
  evidence.family = cause.kind == FailureKind::hardware ? Family::ecc : Family::progress;
  evidence.signal = cause.key;
  evidence.text = cause.text;
  evidence.time = cause.time;
  return evidence;
}

void explain_by_silence(Failure& failure, const FailureInputs& inputs,
                        const std::map<int, FailureCause>& causes) {
  const auto silent = silent_ranks(*inputs.job, causes, inputs);
  failure.kind = FailureKind::unclear;
  failure.rank = std::nullopt;
  failure.node.clear();
  failure.gpu = std::nullopt;
  failure.sentence = "Every rank that left a record ended because of another one";
  if (silent.empty()) return;
  failure.cause = "silent_rank";
  failure.rank = silent.front()->rank;
  failure.node = silent.front()->node;
  failure.gpu = silent.front()->gpu;
  failure.sentence += "; no record came from " + place_of_rank(*silent.front());
  if (silent.size() > 1) failure.sentence += " and " + std::to_string(silent.size() - 1) + " more";
}

std::vector<FailureCause> sorted_causes(const FailureInputs& inputs,
                                        const std::map<int, FailureCause>& by_rank) {
  std::vector<FailureCause> causes;
  for (const auto& [number, cause] : by_rank)
    causes.push_back(cause);
  if (inputs.root) {
    FailureCause event = cause_of_event(*inputs.root);
    compare_with_ranks(event, by_rank);
    causes.push_back(std::move(event));
  }
  if (inputs.loss_is_nan) {
    FailureCause loss;
    loss.kind = FailureKind::application;
    loss.strength = CauseStrength::vague;
    loss.key = "not_a_number";
    loss.time = loss.rank_time = inputs.end - kKernelDelay;
    loss.sentence = loss.text = "The last reported loss is not a number";
    causes.push_back(std::move(loss));
  }
  std::sort(causes.begin(), causes.end(), &is_better_cause);
  return causes;
}

}  // namespace

Failure explain_failure(const FailureInputs& inputs) {
  Failure failure;
  failure.time = inputs.end;
  failure.not_available = missing_sources(inputs);
  failure.sentence = "The job ended and no record states why";
  if (inputs.job == nullptr) return failure;
  const RanksByNumber ranks = ranks_by_number(*inputs.job);
  const std::map<int, FailureCause> by_rank = causes_of_ranks(inputs, ranks);
  const std::vector<FailureCause> causes = sorted_causes(inputs, by_rank);
  if (causes.empty()) return failure;
  const FailureCause& best = causes.front();
  failure.kind = best.kind;
  failure.cause = best.key;
  failure.time = best.time;
  failure.culprit = best.culprit;
  if (best.kind == FailureKind::application) failure.culprit = {EntityKind::program, {}, -1, {}};
  set_failure_place(failure, best);
  failure.sentence = best.sentence;
  if (best.rank != nullptr) failure.sentence += ": " + place_of_rank(*best.rank);
  if (best.strength == CauseStrength::consequence) explain_by_silence(failure, inputs, by_rank);
  for (const FailureCause& cause : causes) {
    if (failure.evidence.size() < Failure::kMaxEvidence) failure.evidence.push_back(evidence_of_cause(cause));
    if (cause.rank != nullptr && cause.strength == CauseStrength::consequence)
      failure.consequences.push_back(cause.rank->rank);
  }
  std::sort(failure.consequences.begin(), failure.consequences.end());
  return failure;
}

}  // namespace autopilot::jobs
