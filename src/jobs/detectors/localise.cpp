// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/localise.hpp"

#include <algorithm>
#include <chrono>
#include <set>

namespace autopilot::jobs {
namespace {

constexpr Duration kEventBefore = std::chrono::minutes(10);  // reference 2a.6
constexpr Duration kEventAfter = std::chrono::minutes(5);
constexpr float kProcessShare = 0.5F;
constexpr std::size_t kEnoughGpus = 3;  // two that differ from each other accuse neither

// Defaults until the benchmark fits them.
constexpr double kDeadProbability = 0.95;
constexpr double kBehindProbability = 0.85;
constexpr double kProcessProbability = 0.85;
constexpr double kDeviceProbability = 0.7;
constexpr double kEventProbability = 0.6;
constexpr double kProgramProbability = 0.6;
constexpr double kAgreement = 0.5;  // evidence that agrees halves the doubt

using Ranks = std::vector<const RankSigns*>;

std::string text_of_ranks(const std::vector<int>& ranks) {
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return "rank " + std::to_string(ranks.front());
  const auto span = static_cast<std::size_t>(ranks.back() - ranks.front()) + 1;
  if (ranks.size() > 2 && span == ranks.size())
    return "ranks " + std::to_string(ranks.front()) + " to " + std::to_string(ranks.back());
  std::string text = "ranks " + std::to_string(ranks.front());
  const std::size_t named = std::min<std::size_t>(ranks.size(), 4);
  for (std::size_t i = 1; i < named; ++i)
    text += (i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  if (named < ranks.size()) text += " and " + std::to_string(ranks.size() - named) + " more";
  return text;
}

std::vector<int> numbers_of(const Ranks& ranks) {
  std::vector<int> numbers;
  numbers.reserve(ranks.size());
  for (const RankSigns* rank : ranks)
    numbers.push_back(rank->rank);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::set<std::string> nodes_of(const Ranks& ranks) {
  std::set<std::string> nodes;
  for (const RankSigns* rank : ranks)
    if (!rank->node.empty()) nodes.insert(rank->node);
  return nodes;
}

Ranks with_numbers(const HangCase& hang, const std::vector<int>& sorted) {
  Ranks found;
  for (const RankSigns& rank : hang.ranks)
    if (std::binary_search(sorted.begin(), sorted.end(), rank.rank)) found.push_back(&rank);
  return found;
}

// The leaf that holds all of the nodes, if no other node of the job is on it and the job has other leaves.
std::string common_leaf(const HangCase& hang, const std::set<std::string>& nodes) {
  std::string leaf;
  bool has_other = false;
  for (const RankSigns& rank : hang.ranks) {
    if (!nodes.contains(rank.node)) continue;
    if (rank.leaf.empty() || (!leaf.empty() && leaf != rank.leaf)) return {};
    leaf = rank.leaf;
  }
  for (const RankSigns& rank : hang.ranks) {
    if (nodes.contains(rank.node)) continue;
    if (rank.leaf == leaf) return {};
    has_other = true;
  }
  return has_other ? leaf : std::string();
}

Entity entity_of_nodes(const HangCase& hang, const std::set<std::string>& nodes) {
  if (nodes.size() == 1) return {EntityKind::host, *nodes.begin(), -1, {}};
  if (nodes.size() < 2) return {};
  std::string leaf = common_leaf(hang, nodes);
  if (leaf.empty()) return {};
  return {EntityKind::leaf, std::move(leaf), -1, {}};
}

std::vector<const HangEvent*> events_of(const HangCase& hang) {
  std::set<std::string> nodes;
  for (const RankSigns& rank : hang.ranks)
    nodes.insert(rank.node);
  std::vector<const HangEvent*> found;
  for (const HangEvent& event : hang.events)
    if (event.is_hardware && nodes.contains(event.node) && event.time >= hang.last_progress - kEventBefore &&
        event.time <= hang.last_progress + kEventAfter)
      found.push_back(&event);
  std::stable_sort(found.begin(), found.end(),
                   [](const HangEvent* left, const HangEvent* right) { return left->time < right->time; });
  return found;
}

Entity entity_of_event(const HangEvent& event) {
  if (event.gpu) return {EntityKind::gpu, event.node, *event.gpu, {}};
  if (!event.nic.empty()) return {EntityKind::nic, event.node, -1, event.nic};
  return {EntityKind::host, event.node, -1, {}};
}

Evidence evidence_of_event(const HangEvent& event) {
  Evidence evidence;
  evidence.time = event.time;
  evidence.family = event.family;
  const std::string what = event.text.empty() ? "" : ": " + event.text;
  switch (event.kind) {
    case HangEventKind::xid:
      evidence.signal = "hang_xid";
      evidence.text = "The driver of " + event.node + " reported an error" + what + ".";
      break;
    case HangEventKind::link_down:
      evidence.signal = "hang_link_down";
      evidence.text = "The link of " + (event.nic.empty() ? std::string("a NIC") : event.nic) + " of " +
                      event.node + " went down" + what + ".";
      break;
    case HangEventKind::link_degraded:
      evidence.signal = "hang_link_degraded";
      evidence.text = event.text + ".";
      break;
    case HangEventKind::node_lost:
      evidence.signal = "hang_node_lost";
      evidence.text = "Node " + event.node + " does not report" + what + ".";
      break;
    case HangEventKind::failed_check:
      evidence.signal = "hang_failed_check";
      evidence.text = "A check of " + event.node + " failed" + what + ".";
      break;
  }
  return evidence;
}

// Finds culprits in the order of localise.hpp.
class CulpritSearch {
 public:
  explicit CulpritSearch(const HangCase& hang) : hang_(hang), events_(events_of(hang)) {}

  HangCulprit run() {
    const bool is_named = by_counts() || by_processes() || by_devices() || by_events() || by_program();
    if (!is_named) {
      name_awake_ranks();
      result_.sentence = sentence_without_culprit();
    }
    if (result_.culprit.is_accused()) corroborate();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string sentence_without_culprit() const {
    if (result_.ranks.empty())
      return "No step ends, and no signal names a culprit; test the pairs of the job's nodes.";
    const std::set<std::string> nodes = nodes_of(with_numbers(hang_, result_.ranks));
    if (nodes.size() == 1)
      return "The job waits for " + text_of_ranks(result_.ranks) + " on " + *nodes.begin() +
             ", and no signal names a fault of that node; read the stacks of these processes.";
    return "The job waits for " + text_of_ranks(result_.ranks) + " on " + std::to_string(nodes.size()) +
           " nodes, and no signal names one of them; test the pairs of these nodes.";
  }

  // Ranks on several nodes name no culprit by themselves: false, but they are kept for the finding.
  bool accuse(LocalisedBy by, const Ranks& ranks, double probability, Evidence evidence) {
    const Entity entity = entity_of_nodes(hang_, nodes_of(ranks));
    if (result_.ranks.empty()) result_.ranks = numbers_of(ranks);
    evidence.time = hang_.now;
    result_.evidence.push_back(std::move(evidence));
    if (!entity.is_accused()) return false;
    result_.culprit = entity;
    result_.by = by;
    result_.ranks = numbers_of(ranks);
    result_.probability = probability;
    result_.sentence = "The job waits for " + text_of_ranks(result_.ranks) + " on " + to_string(entity) +
                       ": " + result_.evidence.back().text;
    std::rotate(result_.evidence.begin(), result_.evidence.end() - 1, result_.evidence.end());
    return true;
  }

  bool by_counts() {
    const CollectiveBlame& blame = hang_.blame;
    std::vector<int> sorted = blame.ranks;
    std::sort(sorted.begin(), sorted.end());
    const Ranks ranks = with_numbers(hang_, sorted);
    if (ranks.empty()) return false;
    const std::string named = text_of_ranks(numbers_of(ranks));
    Evidence evidence;
    switch (blame.reason) {
      case BlameReason::dead:
        evidence.signal = "ras_dead";
        evidence.text = "NCCL RAS reports " + named + " as dead.";
        return accuse(LocalisedBy::dead_rank, ranks, kDeadProbability, evidence);
      case BlameReason::unresponsive:
        evidence.signal = "ras_unresponsive";
        evidence.text = "NCCL RAS gets no answer from " + named + ".";
        return accuse(LocalisedBy::dead_rank, ranks, kDeadProbability, evidence);
      case BlameReason::behind:
        evidence.signal = "collective_behind";
        evidence.value = static_cast<double>(blame.behind_by.value_or(1));
        evidence.peers = 0;
        evidence.text = "In communicator " + blame.communicator + " of " + std::to_string(blame.size) +
                        " ranks, " + named + " started fewer collectives than the others, by " +
                        std::to_string(blame.behind_by.value_or(1)) + ".";
        return accuse(LocalisedBy::counts, ranks, kBehindProbability, evidence);
      case BlameReason::none:
      case BlameReason::deadlock:
      case BlameReason::all_started:
        break;
    }
    return false;
  }

  bool by_processes() {
    Ranks stopped;
    Ranks asleep;
    for (const RankSigns& rank : hang_.ranks) {
      if (rank.stopped >= kProcessShare) stopped.push_back(&rank);
      if (rank.disk_sleep >= kProcessShare) asleep.push_back(&rank);
    }
    if (!stopped.empty() && stopped.size() < hang_.ranks.size()) {
      Evidence evidence;
      evidence.family = Family::host;
      evidence.signal = "process_stopped";
      evidence.text = "The process of " + text_of_ranks(numbers_of(stopped)) + " is stopped (state T).";
      if (accuse(LocalisedBy::process, stopped, kProcessProbability, evidence)) return true;
    }
    if (asleep.empty()) return false;
    Evidence evidence;
    evidence.family = Family::host;
    evidence.signal = "process_disk_sleep";
    evidence.text = "The process of " + text_of_ranks(numbers_of(asleep)) + " waits for a disk (state D).";
    if (nodes_of(asleep).size() < 2)
      return accuse(LocalisedBy::process, asleep, kProcessProbability, evidence);
    evidence.time = hang_.now;
    result_.culprit = {EntityKind::storage, {}, -1, {}};
    result_.by = LocalisedBy::process;
    result_.ranks = numbers_of(asleep);
    result_.probability = kProcessProbability;
    result_.sentence = "Processes on " + std::to_string(nodes_of(asleep).size()) +
                       " nodes wait for shared storage: " + evidence.text;
    result_.evidence.insert(result_.evidence.begin(), std::move(evidence));
    return true;
  }

  // Ranks whose GPU does not do what most GPUs do; empty if too little is known.
  [[nodiscard]] Ranks odd_devices() const {
    Ranks spinning;
    Ranks idle;
    Ranks computing;
    for (const RankSigns& rank : hang_.ranks) {
      if (rank.activity == GpuActivity::spinning) spinning.push_back(&rank);
      if (rank.activity == GpuActivity::idle) idle.push_back(&rank);
      if (rank.activity == GpuActivity::computing) computing.push_back(&rank);
    }
    const std::size_t known = spinning.size() + idle.size() + computing.size();
    if (known < kEnoughGpus || known * 2 < hang_.ranks.size()) return {};
    if (spinning.size() * 2 > known) {
      idle.insert(idle.end(), computing.begin(), computing.end());
      return idle;
    }
    // All wait on the host, and one GPU still works.
    if (idle.size() * 2 > known && spinning.empty()) return computing;
    return {};
  }

  bool by_devices() {
    const Ranks odd = odd_devices();
    if (odd.empty()) return false;
    Evidence evidence;
    evidence.family = Family::progress;
    evidence.signal = "device_differs";
    evidence.text = "The GPU of " + text_of_ranks(numbers_of(odd)) + " is " +
                    std::string(to_string(odd.front()->activity)) + " while the other GPUs wait.";
    return accuse(LocalisedBy::device, odd, kDeviceProbability, evidence);
  }

  // The few ranks that work while most sleep.
  void name_awake_ranks() {
    if (!result_.ranks.empty()) return;
    Ranks awake;
    std::size_t asleep = 0;
    for (const RankSigns& rank : hang_.ranks) {
      if (rank.gpu || !rank.is_awake) continue;
      if (*rank.is_awake)
        awake.push_back(&rank);
      else
        ++asleep;
    }
    if (awake.empty() || asleep <= awake.size() || asleep * 2 < hang_.ranks.size()) return;
    result_.ranks = numbers_of(awake);
    Evidence evidence;
    evidence.signal = "process_awake";
    evidence.time = hang_.now;
    evidence.text = "The process of " + text_of_ranks(result_.ranks) +
                    " works while the processes of the other ranks sleep.";
    result_.evidence.push_back(std::move(evidence));
  }

  bool by_events() {
    std::set<std::string> nodes;
    for (const HangEvent* event : events_)
      nodes.insert(event->node);
    if (nodes.size() != 1) return false;
    const HangEvent& event = *events_.front();
    Evidence evidence = evidence_of_event(event);
    result_.culprit = entity_of_event(event);
    result_.by = LocalisedBy::event;
    result_.probability = kEventProbability;
    result_.ranks.clear();
    for (const RankSigns& rank : hang_.ranks)
      if (rank.node == event.node && (!event.gpu || rank.gpu == event.gpu))
        result_.ranks.push_back(rank.rank);
    std::sort(result_.ranks.begin(), result_.ranks.end());
    result_.sentence =
        "No step ends since shortly after an event of " + to_string(result_.culprit) + ": " + evidence.text;
    result_.evidence.insert(result_.evidence.begin(), std::move(evidence));
    return true;
  }

  bool by_program() {
    if (hang_.blame.reason != BlameReason::deadlock) return false;
    Evidence evidence;
    evidence.signal = "collective_deadlock";
    evidence.text = "Ranks wait for each other in different communicators.";
    evidence.time = hang_.now;
    result_.culprit = {EntityKind::program, {}, -1, {}};
    result_.by = LocalisedBy::counts;
    result_.probability = kProgramProbability;
    result_.sentence = "The program starts its collectives in different orders: " + evidence.text;
    result_.evidence.insert(result_.evidence.begin(), std::move(evidence));
    return true;
  }

  // Adds what agrees with the culprit, and narrows a host to the GPU or NIC of an event.
  void corroborate() {
    if (result_.by != LocalisedBy::event) {
      for (const HangEvent* event : events_) {
        if (event->node != result_.culprit.node) continue;
        if (result_.culprit.kind == EntityKind::host) result_.culprit = entity_of_event(*event);
        agree(evidence_of_event(*event));
      }
    }
    if (result_.by != LocalisedBy::dead_rank && result_.by != LocalisedBy::counts) return;
    Ranks same;
    for (const RankSigns* rank : odd_devices())
      if (std::binary_search(result_.ranks.begin(), result_.ranks.end(), rank->rank)) same.push_back(rank);
    if (same.empty()) return;
    Evidence evidence;
    evidence.signal = "device_differs";
    evidence.time = hang_.now;
    evidence.text = "The GPU of " + text_of_ranks(numbers_of(same)) + " is " +
                    std::string(to_string(same.front()->activity)) + " while the other GPUs wait.";
    agree(std::move(evidence));
  }

  void agree(Evidence evidence) {
    if (result_.evidence.size() >= kMaxEvidence) return;
    result_.evidence.push_back(std::move(evidence));
    result_.probability = 1 - (1 - result_.probability) * kAgreement;
  }

  static constexpr std::size_t kMaxEvidence = 8;

  const HangCase& hang_;
  std::vector<const HangEvent*> events_;
  HangCulprit result_;
};

}  // namespace

HangCulprit localise(const HangCase& hang) {
  return CulpritSearch(hang).run();
}

}  // namespace autopilot::jobs
