// SPDX-License-Identifier: Apache-2.0
#include "jobs/slow_watch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "jobs/causes.hpp"
#include "jobs/decision/decide.hpp"
#include "jobs/detectors/series.hpp"

namespace autopilot::jobs {
namespace {

// Time over which the loads of ranks are learned for clustering: reference 2a.1.
constexpr double kOtherPhase = 3;
constexpr int kMinutesOfPhase = 30;
constexpr std::size_t kLoadMinutes = 10;
// An event of a node counts for a culprit on the node this long.
constexpr Duration kEventsBefore = std::chrono::minutes(10);
// Evidence and slower steps that begin within this time of each other have one cause.
constexpr Duration kTogether = std::chrono::minutes(15);
// Evidence that was missing for so long begins anew.
constexpr Duration kForgotten = std::chrono::minutes(15);

RegressionOptions regression_options(const EngineOptions& options) {
  RegressionOptions regression;
  regression.uses_whitening = options.uses_whitening;
  return regression;
}

std::size_t count_nic_rows(const JobContext& job) {
  return std::accumulate(job.members.nodes().begin(), job.members.nodes().end(), std::size_t{0},
                         [&](std::size_t sum, std::uint32_t node) {
                           return sum + job.fleet.node(node).telemetry.nics().size();
                         });
}

Roles all_equal(const JobContext& job) {
  Roles roles;
  roles.role.assign(job.members.members().size(), 0);
  roles.count = 1;
  return roles;
}

// Roles by position in the record, as the members are: ranks that were left out are skipped.
Roles of_members(const JobContext& job, Roles roles) {
  if (job.members.left_out() == 0) return roles;
  Roles kept = roles;
  kept.role.clear();
  for (std::size_t at = 0; at < job.record.ranks.size() && at < roles.role.size(); ++at)
    if (job.members.find(job.record.ranks[at].rank) != nullptr) kept.role.push_back(roles.role[at]);
  return kept;
}

// An event about one GPU does not concern another one of the node.
bool is_about(const Event& event, const Entity& culprit) {
  if (event.entity.node != culprit.node) return false;
  if (event.entity.kind == EntityKind::gpu && culprit.kind == EntityKind::gpu)
    return event.entity.gpu == culprit.gpu;
  if (event.entity.kind == EntityKind::nic && culprit.kind == EntityKind::nic)
    return event.entity.nic == culprit.nic;
  return event.entity.kind == EntityKind::host || culprit.kind == EntityKind::host;
}

float load_of(std::vector<float>& values) {
  const auto median = series_median(values);
  return median ? static_cast<float>(*median) : kMissing;
}

}  // namespace

SlowWatch::SlowWatch(const EngineOptions& options)
    : options_(options),
      peers_(options.uses_persistence, options.collects_scores),
      regression_(regression_options(options)) {}

void SlowWatch::start(const JobContext& job, bool has_equal_ranks) {
  collectives_.reset();
  loads_.clear();
  has_clustered_ = false;
  regression_.interrupt();
  if (!has_equal_ranks) forget_pace();
  roles_ = options_.uses_roles ? of_members(job, find_roles(job.record, nullptr, {})) : all_equal(job);
  nic_rows_ = count_nic_rows(job);
  peers_.regroup(job.members, job.fleet, roles_);
  network_.start(job.members, job.fleet);
}

void SlowWatch::forget_pace() {
  regression_ = RegressionDetector(regression_options(options_));
}

void SlowWatch::add(const CollectivesRecord& record) {
  if (roles_.source < RoleSource::communicators) collectives_ = record;
}

void SlowWatch::find_roles_again(const JobContext& job) {
  const bool has_new_nics = count_nic_rows(job) != nic_rows_;
  if (options_.uses_roles && roles_.source < RoleSource::communicators) {
    std::vector<RankLoad> loads;
    if (!has_clustered_ && loads_.size() >= kLoadMinutes) {
      has_clustered_ = true;
      loads.resize(job.members.members().size());
      for (std::size_t at = 0; at < loads.size(); ++at) {
        std::vector<float> tensor, memory, nvlink;
        for (const std::vector<RankLoad>& minute : loads_) {
          tensor.push_back(minute[at].tensor);
          memory.push_back(minute[at].mem_bytes);
          nvlink.push_back(minute[at].nvlink_bytes_s);
        }
        loads[at] = {load_of(tensor), load_of(memory), load_of(nvlink)};
      }
      loads_.clear();
      if (job.members.left_out() > 0) loads.clear();
    }
    if (collectives_ || !loads.empty()) {
      Roles better = of_members(job, find_roles(job.record, collectives_ ? &*collectives_ : nullptr, loads));
      collectives_.reset();
      if (better.source > roles_.source) {
        roles_ = std::move(better);
        peers_.regroup(job.members, job.fleet, roles_);
      }
    }
  }
  if (!has_new_nics) return;
  nic_rows_ = count_nic_rows(job);
  peers_.regroup(job.members, job.fleet, roles_);
}

void SlowWatch::learn_load(const JobContext& job, WallTime end) {
  if (has_clustered_ || !options_.uses_roles || roles_.source >= RoleSource::communicators) return;
  std::vector<RankLoad> minute(job.members.members().size());
  for (std::size_t at = 0; at < minute.size(); ++at) {
    const Member& member = job.members.members()[at];
    const NodeTelemetry& telemetry = job.fleet.node(member.node).telemetry;
    const auto row = telemetry.gpu_row(member.gpu);
    if (!row) continue;
    minute[at] = {telemetry.over_minute(Metric::gpu_tensor, *row, end),
                  telemetry.over_minute(Metric::gpu_mem_bytes, *row, end),
                  telemetry.over_minute(Metric::gpu_nvlink_bytes_s, *row, end)};
  }
  loads_.push_back(std::move(minute));
}

void SlowWatch::feed_regression(const Minute& minute) {
  MinuteOfSteps steps{.time = minute.end, .log_time = std::nan(""), .is_left_out = !minute.is_training};
  if (minute.steps.step_s)
    steps.log_time = std::log(*minute.steps.step_s);
  else if (minute.collectives_per_s && *minute.collectives_per_s > 0)
    steps.log_time = -std::log(*minute.collectives_per_s);
  // Far fewer collectives than usual are another phase, such as an evaluation, unless they last.
  const auto usual = regression_.baseline_s();
  const bool is_other_phase =
      !minute.steps.step_s && usual && steps.log_time > std::log(kOtherPhase * *usual);
  other_phase_ = is_other_phase ? other_phase_ + 1 : 0;
  steps.is_left_out |= is_other_phase && other_phase_ <= kMinutesOfPhase;
  if (minute.steps.tokens) steps.log_work = std::log(*minute.steps.tokens);
  regression_.add(steps);
}

std::vector<SlowCase> SlowWatch::peers(const JobContext& job, WallTime end) {
  const JobCondition condition{.is_synchronous = job.record.kind == JobKind::training,
                               .is_slow = regression_.present().has_value(),
                               .roles = options_.uses_roles ? roles_.source : RoleSource::declared};
  std::vector<SlowCase> cases;
  for (Suspect& suspect : peers_.minute(job.members, job.fleet, condition, job.weights, end)) {
    // Ports are judged by the network detector, which knows leaves and congestion.
    if (suspect.blame.culprit.kind == EntityKind::nic) continue;
    cases.push_back({.culprit = suspect.blame.culprit,
                     .cause = suspect.blame.cause,
                     .ranks = std::move(suspect.ranks),
                     .evidence = std::move(suspect.blame.evidence),
                     .ruled_out = std::move(suspect.blame.ruled_out)});
  }
  return cases;
}

std::vector<SlowCase> SlowWatch::network(const JobContext& job, WallTime end) {
  std::vector<SlowCase> cases;
  network_findings_ = network_.minute(job, end);
  for (const NetworkFinding& finding : network_findings_) {
    if (finding.fault == NetworkFault::congestion) congested_ = end;
    if (!is_accusing(finding.fault)) continue;
    SlowCase found{.culprit = finding.culprit,
                   .cause = std::string(finding.culprit.kind == EntityKind::leaf ? kLeaf : kNic),
                   .evidence = finding.evidence};
    for (const std::uint32_t number : job.members.nodes()) {
      const NodeRecord& node = job.fleet.node(number).record;
      if (node.node != found.culprit.node &&
          (finding.culprit.kind != EntityKind::leaf || node.leaf != found.culprit.node))
        continue;
      for (const int rank : job.members.ranks_on(number))
        found.ranks.push_back(rank);
    }
    std::ranges::sort(found.ranks);
    cases.push_back(std::move(found));
  }
  return cases;
}

void SlowWatch::add_events(const JobContext& job, WallTime end, std::vector<SlowCase>& cases) const {
  const EventMemory::UsualFindings usual = job.events.usual_findings(job.record);
  for (const std::uint32_t number : job.members.nodes()) {
    const std::string& name = job.fleet.node(number).record.node;
    for (const Event& event : job.events.of_node(name, end - kEventsBefore, end)) {
      const std::string_view signal = signal_of(event);
      if (signal.empty() || event.cleared || EventMemory::is_usual(event, usual, job.record)) continue;
      const Evidence evidence = make_evidence(signal, event.text, event.time);
      bool has_case = false;
      for (SlowCase& found : cases) {
        if (!is_about(event, found.culprit)) continue;
        found.evidence.push_back(evidence);
        found.is_fatal |= situation_of(event) == Situation::fatal;
        has_case = true;
      }
      const bool concerns_job =
          event.entity.kind != EntityKind::gpu || !job.members.ranks_on(number, event.entity.gpu).empty();
      if (has_case || event.event_class != EventClass::hardware || !concerns_job) continue;
      SlowCase found{.culprit = event.entity,
                     .cause = event.key,
                     .evidence = {evidence},
                     .is_fatal = situation_of(event) == Situation::fatal};
      found.ranks = job.members.ranks_on(
          number, event.entity.kind == EntityKind::gpu ? std::optional(event.entity.gpu) : std::nullopt);
      cases.push_back(std::move(found));
    }
  }
}

void SlowWatch::add_slowdown(WallTime end, std::vector<SlowCase>& cases) {
  std::erase_if(seen_, [&](const auto& each) { return end - each.second.last > kForgotten; });
  const auto& present = regression_.present();
  for (SlowCase& found : cases) {
    Seen& seen = seen_.try_emplace(found.culprit, Seen{end, end}).first->second;
    seen.last = end;
    found.since = seen.first;
    const bool is_together =
        present && present->onset >= seen.first - kTogether && present->onset <= seen.first + kTogether;
    if (!is_together) continue;
    const int percent = static_cast<int>(std::lround(100 * (present->after_s / present->before_s - 1)));
    found.evidence.push_back(make_evidence(
        "job_slowed",
        "steps take " + std::to_string(percent) + " % longer since " + format_time(present->onset), end));
  }
}

bool SlowWatch::is_congested(WallTime now) const {
  return congested_ && now - *congested_ <= kTogether;
}

std::vector<SlowCase> SlowWatch::minute(const JobContext& job, const Minute& minute) {
  feed_regression(minute);
  if (minute.is_training) learn_load(job, minute.end);
  find_roles_again(job);
  // In other phases ranks do different work: one of them writes, or evaluates.
  std::vector<SlowCase> cases;
  if (minute.is_training) cases = peers(job, minute.end);
  for (SlowCase& found : network(job, minute.end))
    cases.push_back(std::move(found));
  add_events(job, minute.end, cases);
  add_slowdown(minute.end, cases);
  const double prior = job.weights == nullptr ? kPrior : job.weights->prior.value_or(kPrior);
  for (SlowCase& found : cases) {
    Fusion fusion = fuse(prior, found.evidence,
                         options_.uses_fusion ? FusionRule::families : FusionRule::strongest, job.weights);
    found.probability = fusion.probability;
    found.evidence = std::move(fusion.terms);
  }
  return cases;
}

std::optional<double> SlowWatch::slowdown_by(const SlowCase& found) const {
  if (const auto& present = regression_.present(); present && present->before_s > 0)
    return present->after_s / present->before_s - 1;
  for (const Evidence& each : found.evidence)
    if (each.signal == "sm_clock_low" && each.value && each.peers && *each.value > 0 &&
        *each.peers > *each.value)
      return *each.peers / *each.value - 1;
  return std::nullopt;
}

}  // namespace autopilot::jobs
