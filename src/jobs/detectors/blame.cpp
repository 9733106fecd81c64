// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/blame.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "jobs/causes.hpp"
#include "jobs/detectors/amounts.hpp"

namespace autopilot::jobs {

namespace {

using DeviationList = std::vector<const Deviation*>;

// Causes of a GPU, the most specific first: heat lowers the clock as well.
struct GpuCause {
  std::string_view signal, cause;
};
constexpr std::array<GpuCause, 9> kCauses{{
    {"throttle_brake", kPowerBrake},
    {"throttle_thermal", kThermal},
    {"throttle_hw", kHardwareSlowdown},
    {"ecc_uncorrected", kEcc},
    {"pcie_width_low", kPcie},
    {"pcie_gen_low", kPcie},
    {"nvlink_errors_high", kNvlink},
    {"throttle_power_cap", kPowerCap},
    {"sm_clock_low", kClock},
}};

std::string sentence_of(const Deviation& deviation) {
  std::string text = compare_amounts(deviation.rule->metric, deviation.value, deviation.median,
                                     deviation.threshold, deviation.peers);
  return deviation.nic.empty() ? text : std::string(deviation.nic) + ": " + text;
}

bool means(Sign found, Sign wanted) {
  return found == wanted || (found == Sign::delayed && wanted == Sign::hint);
}

// The deviations of one rank, sorted by what they mean.
class RankDeviations {
 public:
  RankDeviations(std::span<const Deviation> deviations, const JobCondition& job) : job_(job) {
    for (const Deviation& each : deviations)
      if (each.rule != nullptr) all_.push_back(&each);
    for (const Deviation* each : all_)
      if (const std::string_view other = other_explanation(*each); other.empty()) {
        used_.push_back(each);
      } else {
        ruled_out_.push_back(sentence_of(*each) + ": " + std::string(other));
      }
  }

  [[nodiscard]] bool has(std::string_view signal) const {
    return std::ranges::any_of(all_, [&](const Deviation* each) { return each->rule->signal == signal; });
  }
  [[nodiscard]] DeviationList with(Sign sign, std::initializer_list<Table> tables) const {
    DeviationList found;
    for (const Deviation* each : used_)
      if (means(each->rule->sign, sign) && std::ranges::count(tables, info(each->rule->metric).table) > 0)
        found.push_back(each);
    return found;
  }
  [[nodiscard]] bool shows(Sign sign, std::initializer_list<Table> tables) const {
    return !with(sign, tables).empty();
  }
  [[nodiscard]] const std::vector<std::string>& ruled_out() const { return ruled_out_; }

 private:
  // Why a state of the GPU does not count against it. Empty: it counts.
  [[nodiscard]] std::string_view other_explanation(const Deviation& deviation) const {
    const std::string_view signal = deviation.rule->signal;
    const bool throttles = has("throttle_thermal") || has("throttle_hw") || has("throttle_brake");
    if (signal == "pcie_gen_low" && has("util_low")) return "a GPU without work lowers the speed of its link";
    if (signal != "sm_clock_low" || throttles) return {};
    if (has("util_low")) return "a GPU without work lowers its clock";
    const bool loads_differ = job_.roles <= RoleSource::clustered || !job_.is_synchronous;
    if (loads_differ && has("throttle_power_cap") && !has("power_low"))
      return "a GPU with more work reaches its power limit";
    return {};
  }

  const JobCondition& job_;
  DeviationList all_, used_;
  std::vector<std::string> ruled_out_;
};

void append(DeviationList& list, const DeviationList& more) {
  list.insert(list.end(), more.begin(), more.end());
}

std::optional<double> if_finite(float value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::vector<Evidence> evidence_of(DeviationList deviations, WallTime time) {
  std::ranges::stable_sort(deviations, [](const Deviation* left, const Deviation* right) {
    const bool is_left_fault = left->rule->sign == Sign::fault;
    const bool is_right_fault = right->rule->sign == Sign::fault;
    return is_left_fault != is_right_fault ? is_left_fault : left->z > right->z;
  });
  std::vector<Evidence> evidence;
  for (const Deviation* each : deviations) {
    if (evidence.size() == Blame::kMaxEvidence) break;
    Evidence& made = evidence.emplace_back();
    made.family = each->rule->family;
    made.signal = each->rule->signal;
    made.text = sentence_of(*each);
    made.value = if_finite(each->value);
    made.peers = if_finite(each->median);
    made.threshold = if_finite(each->threshold);
    made.time = time;
  }
  return evidence;
}

std::string cause_of_gpu(const DeviationList& signs) {
  for (const GpuCause& known : kCauses)
    if (std::ranges::any_of(signs, [&](const Deviation* each) { return each->rule->signal == known.signal; }))
      return std::string(known.cause);
  return std::string(kCompute);
}

// The NIC with the most faults; of equal ones the first.
std::string_view worst_nic(const DeviationList& faults) {
  std::string_view worst;
  std::ptrdiff_t most = 0;
  for (const Deviation* each : faults) {
    const auto count = std::ranges::count(faults, each->nic, &Deviation::nic);
    if (count > most) {
      most = count;
      worst = each->nic;
    }
  }
  return worst;
}

// What the rank is accused of; std::nullopt: nothing.
struct RankAccusation {
  BlameVerdict verdict = BlameVerdict::none;
  DeviationList signs;
  std::string cause;
};

std::optional<RankAccusation> accuse_gpu(const RankDeviations& signs) {
  DeviationList faults = signs.with(Sign::fault, {Table::gpu});
  if (faults.empty()) return std::nullopt;
  append(faults, signs.with(Sign::hint, {Table::gpu}));
  append(faults, signs.with(Sign::late, {Table::gpu}));
  std::string cause = cause_of_gpu(faults);
  // Warm air heats all GPUs of the node: not the GPU's fault.
  const bool is_air = cause == kThermal && signs.has("inlet_high");
  if (is_air) append(faults, signs.with(Sign::hint, {Table::host}));
  return RankAccusation{is_air ? BlameVerdict::culprit_host : BlameVerdict::culprit_gpu, std::move(faults),
                        std::move(cause)};
}

std::optional<RankAccusation> accuse_nic(const RankDeviations& signs) {
  DeviationList faults = signs.with(Sign::fault, {Table::nic});
  if (faults.empty()) return std::nullopt;
  const std::string_view nic = worst_nic(faults);
  append(faults, signs.with(Sign::hint, {Table::nic}));
  append(faults, signs.with(Sign::waiting, {Table::nic}));
  std::erase_if(faults, [&](const Deviation* each) { return each->nic != nic; });
  return RankAccusation{BlameVerdict::culprit_nic, std::move(faults), std::string(kNic)};
}

// A rank whose host is under pressure and whose GPU therefore idles, or whose process gets too little of the
// host.
std::optional<RankAccusation> accuse_host(const RankDeviations& signs, const JobCondition& job) {
  DeviationList found = signs.with(Sign::fault, {Table::process, Table::host});
  const bool is_stopped = !found.empty();
  const bool idles =
      signs.shows(Sign::idle, {Table::gpu}) && signs.shows(Sign::hint, {Table::process, Table::host});
  const bool waits_for_processor = signs.shows(Sign::delayed, {Table::process});
  const bool starves = job.is_slow && signs.shows(Sign::hint, {Table::process}) &&
                       (waits_for_processor || signs.shows(Sign::hint, {Table::host}));
  if (!is_stopped && !(job.is_synchronous && (idles || starves))) return std::nullopt;
  append(found, signs.with(Sign::hint, {Table::process, Table::host}));
  append(found, signs.with(Sign::idle, {Table::gpu}));
  const bool is_host_full = signs.has("host_cpu_high") || signs.has("run_queue_high");
  const std::string_view cause = is_stopped                             ? kStopped
                                 : waits_for_processor && !is_host_full ? kProcessorWait
                                                                        : kHost;
  return RankAccusation{BlameVerdict::culprit_host, std::move(found), std::string(cause)};
}

std::optional<RankAccusation> accuse_late_gpu(const RankDeviations& signs, const JobCondition& job) {
  DeviationList found = signs.with(Sign::late, {Table::gpu});
  const bool is_comparable = job.is_synchronous && job.is_slow && job.roles >= RoleSource::communicators;
  if (found.empty() || !is_comparable || signs.shows(Sign::work, {Table::gpu})) return std::nullopt;
  append(found, signs.with(Sign::hint, {Table::gpu}));
  return RankAccusation{BlameVerdict::culprit_gpu, std::move(found), std::string(kCompute)};
}

std::optional<RankAccusation> accuse(const RankDeviations& signs, int gpu, const JobCondition& job) {
  if (signs.has("process_stopped")) return accuse_host(signs, job);
  if (gpu >= 0)
    if (auto found = accuse_gpu(signs)) return found;
  if (auto found = accuse_nic(signs)) return found;
  if (auto found = accuse_host(signs, job)) return found;
  return gpu >= 0 ? accuse_late_gpu(signs, job) : std::nullopt;
}

// A rank without an accusation.
RankAccusation excuse(const RankDeviations& signs, const JobCondition& job) {
  if (!job.is_synchronous) return {};
  DeviationList work = signs.with(Sign::late, {Table::gpu});
  append(work, signs.with(Sign::work, {Table::gpu}));
  if (!work.empty()) return {BlameVerdict::workload, std::move(work), {}};
  DeviationList waits = signs.with(Sign::idle, {Table::gpu});
  append(waits, signs.with(Sign::waiting, {Table::gpu, Table::nic}));
  if (waits.empty()) return {};
  // A GPU that waits in a collective runs a kernel: without one, and with its share of tensor work, the
  // program itself starts kernels late.
  const bool starts_late = signs.has("util_low") && !signs.has("tensor_low");
  return {starts_late ? BlameVerdict::workload : BlameVerdict::victim, std::move(waits), {}};
}

Entity entity_of(BlameVerdict verdict, std::string_view node, int gpu,
                 const std::vector<const Deviation*>& signs) {
  switch (verdict) {
    case BlameVerdict::culprit_gpu:
      return {EntityKind::gpu, std::string(node), gpu, {}};
    case BlameVerdict::culprit_host:
      return {EntityKind::host, std::string(node), -1, {}};
    case BlameVerdict::culprit_nic:
      return {EntityKind::nic, std::string(node), -1, std::string(signs.front()->nic)};
    case BlameVerdict::none:
    case BlameVerdict::victim:
    case BlameVerdict::workload:
      break;
  }
  return {};
}

}  // namespace

std::string_view to_string(BlameVerdict verdict) {
  switch (verdict) {
    case BlameVerdict::none:
      return "none";
    case BlameVerdict::culprit_gpu:
      return "culprit_gpu";
    case BlameVerdict::culprit_host:
      return "culprit_host";
    case BlameVerdict::culprit_nic:
      return "culprit_nic";
    case BlameVerdict::victim:
      return "victim";
    case BlameVerdict::workload:
      return "workload";
  }
  return "none";
}

Blame judge_rank(std::string_view node, int gpu, std::span<const Deviation> deviations,
                 const JobCondition& job, WallTime time) {
  const RankDeviations signs(deviations, job);
  std::optional<RankAccusation> found = accuse(signs, gpu, job);
  if (!found) found = excuse(signs, job);
  Blame blame;
  blame.verdict = found->verdict;
  blame.culprit = entity_of(found->verdict, node, gpu, found->signs);
  blame.cause = std::move(found->cause);
  blame.evidence = evidence_of(std::move(found->signs), time);
  blame.ruled_out = signs.ruled_out();
  if (blame.ruled_out.size() > Blame::kMaxEvidence) blame.ruled_out.resize(Blame::kMaxEvidence);
  return blame;
}

std::optional<Blame> join_node(std::span<const Blame> blames) {
  std::set<int> gpus;
  std::set<std::string> causes, signals;
  std::size_t accused = 0;
  Blame joined;
  joined.verdict = BlameVerdict::culprit_host;
  for (const Blame& each : blames) {
    if (each.verdict != BlameVerdict::culprit_gpu) continue;
    ++accused;
    gpus.insert(each.culprit.gpu);
    causes.insert(each.cause);
    joined.culprit = {EntityKind::host, each.culprit.node, -1, {}};
    for (const Evidence& evidence : each.evidence)
      if (joined.evidence.size() < Blame::kMaxEvidence && signals.insert(evidence.signal).second)
        joined.evidence.push_back(evidence);
  }
  if (gpus.size() < 2 || accused * 2 <= blames.size()) return std::nullopt;
  joined.cause = causes.size() == 1 ? *causes.begin() : std::string(kHost);
  return joined;
}

}  // namespace autopilot::jobs
