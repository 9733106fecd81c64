// SPDX-License-Identifier: Apache-2.0
#include "jobs/scoring/score.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <tuple>
#include <utility>

namespace autopilot::jobs {
namespace {

// A detection counts until this long after the end of a fault.
constexpr Duration kGrace = std::chrono::minutes{5};

bool names_place(const FaultLabel& fault) {
  return !fault.node.empty() || !fault.leaf.empty();
}

bool names_cause(const Entity& culprit) {
  return culprit.kind != EntityKind::unlocalised;
}

// The culprit is the node or leaf of the label.
bool is_place_of(const FaultLabel& fault, const Entity& culprit) {
  if (!culprit.is_accused()) return false;
  if (culprit.kind == EntityKind::leaf) return fault.node.empty() && culprit.node == fault.leaf;
  return !fault.node.empty() && culprit.node == fault.node;
}

// The culprit is what the label lets one expect.
bool is_right(const FaultLabel& fault, const Entity& culprit) {
  if (!fault.is_localisable) return culprit.kind == EntityKind::unlocalised;
  return names_place(fault) ? is_place_of(fault, culprit) : !culprit.is_accused();
}

bool is_about(const FaultLabel& fault, const JobFinding& finding) {
  if (fault.job.empty() && !names_place(fault)) return true;
  if (fault.job.empty() || finding.job.empty()) return is_place_of(fault, finding.culprit);
  return fault.job == finding.job;
}

bool is_during(const FaultLabel& fault, WallTime time) {
  return time >= fault.onset && time <= fault.end + kGrace;
}

// From its report to its end, or to the end of the run.
bool overlaps(const LoggedFinding& logged, WallTime begin, WallTime end) {
  const bool has_ended = logged.finding.resolved && *logged.finding.resolved < begin;
  return *logged.raised <= end && !has_ended;
}

bool is_part_named(const FaultLabel& fault, const Entity& culprit) {
  if (fault.gpu) return culprit.kind == EntityKind::gpu && culprit.gpu == *fault.gpu;
  return culprit.kind == EntityKind::nic && culprit.nic == fault.nic;
}

std::string nearest_magnitude(std::optional<double> magnitude) {
  // The magnitudes of the benchmark.
  constexpr std::array<std::pair<double, const char*>, 5> known{
      {{0.05, "5 %"}, {0.1, "10 %"}, {0.2, "20 %"}, {0.3, "30 %"}, {0.5, "50 %"}}};
  if (!magnitude) return {};
  const auto distance = [&](const auto& one) { return std::abs(one.first - *magnitude); };
  return std::ranges::min_element(known, {}, distance)->second;
}

Delays delays_of(std::vector<double> seconds) {
  Delays delays;
  delays.count = seconds.size();
  delays.median_s = quantile(seconds, 0.5);
  delays.p90_s = quantile(seconds, 0.9);
  return delays;
}

class Scorer {
 public:
  Scorer(const Labels& labels, const RunLog& run)
      : labels_(labels), detections_(labels.faults.size()), firsts_(labels.faults.size()) {
    score_.exposure = run.exposure(labels.begin, labels.end);
    score_.faults = labels.faults.size();
    for (const LoggedFinding& logged : run.findings()) {
      const bool is_outside = logged.raised && (*logged.raised < score_.exposure.begin ||
                                                *logged.raised > score_.exposure.end + kGrace);
      if (!logged.raised)
        ++score_.info;
      else if (is_outside)
        ++score_.out_of_range;
      else
        counted_.push_back(&logged);
    }
    std::ranges::stable_sort(counted_, {}, [](const LoggedFinding* one) { return *one->raised; });
  }

  Score take() {
    for (const LoggedFinding* logged : counted_) {
      note_first(*logged);
      if (!note_detection(*logged)) note_other(*logged);
      note_hang(*logged);
    }
    sum_up();
    return std::move(score_);
  }

 private:
  // The first finding about each fault that names a culprit.
  void note_first(const LoggedFinding& logged) {
    if (!names_cause(logged.finding.culprit)) return;
    for (std::size_t i = 0; i < labels_.faults.size(); ++i) {
      const FaultLabel& fault = labels_.faults[i];
      if (fault.is_localisable && firsts_[i] == nullptr && is_about(fault, logged.finding) &&
          is_during(fault, *logged.raised))
        firsts_[i] = &logged;
    }
  }

  bool note_detection(const LoggedFinding& logged) {
    std::optional<std::size_t> chosen;
    for (std::size_t i = 0; i < labels_.faults.size(); ++i) {
      const FaultLabel& fault = labels_.faults[i];
      if (!is_during(fault, *logged.raised) || !is_about(fault, logged.finding) ||
          !is_right(fault, logged.finding.culprit))
        continue;
      const auto order = [&](std::size_t k) {
        return std::pair(detections_[k] != nullptr, labels_.faults[k].onset);
      };
      if (!chosen || order(i) < order(*chosen)) chosen = i;
    }
    if (!chosen) return false;
    if (detections_[*chosen] == nullptr)
      detections_[*chosen] = &logged;
    else
      ++score_.repeated;
    return true;
  }

  void note_other(const LoggedFinding& logged) {
    const bool is_accusation = logged.finding.culprit.is_accused();
    const auto is_fault_of_job = [&](const FaultLabel& fault) {
      return is_during(fault, *logged.raised) &&
             (fault.job.empty() || logged.finding.job.empty() || fault.job == logged.finding.job);
    };
    const bool has_fault = std::ranges::any_of(labels_.faults, is_fault_of_job);
    if (!is_accusation) {
      if (has_fault)
        ++score_.unlocalised;
      else
        note_false(logged, logged.finding.effect == Effect::hang ? "false_hang" : "false_alarm");
      return;
    }
    const bool is_fault_there = std::ranges::any_of(labels_.faults, [&](const FaultLabel& fault) {
      return is_place_of(fault, logged.finding.culprit) && overlaps(logged, fault.onset, fault.end + kGrace);
    });
    if (is_fault_there) {
      ++score_.elsewhere;
      return;
    }
    ++score_.false_accusations.events;
    if (has_fault) ++score_.wrong_culprits;
    note_confounder(logged);
    note_false(logged, has_fault ? "wrong_culprit" : "false_accusation");
  }

  void note_confounder(const LoggedFinding& logged) {
    for (const ConfounderLabel& label : labels_.confounders) {
      const bool is_there = label.node.empty() || label.node == logged.finding.culprit.node;
      const bool is_job = label.job.empty() || label.job == logged.finding.job;
      if (!is_there || !is_job || *logged.raised < label.begin || *logged.raised > label.end + kGrace)
        continue;
      ++score_.blamed_confounders;
      ++score_.confounders[label.confounder_class];
      return;
    }
  }

  void note_hang(const LoggedFinding& logged) {
    if (logged.finding.effect != Effect::hang) return;
    const bool is_explained = std::ranges::any_of(labels_.faults, [&](const FaultLabel& fault) {
      return (fault.effect == Effect::hang || fault.effect == Effect::crash) &&
             (fault.job.empty() || logged.finding.job.empty() || fault.job == logged.finding.job) &&
             is_during(fault, *logged.raised);
    });
    if (!is_explained) ++score_.false_hangs.events;
  }

  void note_false(const LoggedFinding& logged, std::string what) {
    ++score_.false_findings;
    if (score_.wrong.size() < Score::kMaxWrong)
      score_.wrong.push_back({logged.finding.id, *logged.raised, std::move(what)});
  }

  [[nodiscard]] double delay_of(std::size_t i) const {
    const FaultLabel& fault = labels_.faults[i];
    const LoggedFinding& logged = *detections_[i];
    const bool counts_from_step = fault.effect == Effect::hang && logged.last_step;
    return to_seconds(*logged.raised - (counts_from_step ? *logged.last_step : fault.onset));
  }

  void sum_up() {
    std::map<std::tuple<std::string, double, std::string>, std::vector<std::size_t>> groups;
    std::vector<double> delays;
    std::vector<double> hang_delays;
    std::size_t named = 0;
    std::size_t named_right = 0;
    std::size_t parts = 0;
    std::size_t parts_right = 0;
    for (std::size_t i = 0; i < labels_.faults.size(); ++i) {
      const FaultLabel& fault = labels_.faults[i];
      const std::string magnitude = nearest_magnitude(fault.magnitude);
      groups[{fault.fault_class, magnitude.empty() ? -1 : std::stod(magnitude), magnitude}].push_back(i);
      if (firsts_[i] != nullptr) ++named;
      if (firsts_[i] != nullptr && is_right(fault, firsts_[i]->finding.culprit)) ++named_right;
      if (detections_[i] == nullptr) {
        score_.missed.push_back(fault.id);
        continue;
      }
      ++score_.detected;
      (fault.effect == Effect::hang ? hang_delays : delays).push_back(delay_of(i));
      if ((!fault.gpu && fault.nic.empty()) || !fault.is_localisable) continue;
      ++parts;
      if (is_part_named(fault, detections_[i]->finding.culprit)) ++parts_right;
    }
    for (const auto& [key, faults] : groups)
      score_.classes.push_back(class_score(std::get<0>(key), std::get<2>(key), faults));
    score_.delays = delays_of(std::move(delays));
    score_.hang_delays = delays_of(std::move(hang_delays));
    score_.first_is_right = proportion(static_cast<double>(named_right), static_cast<double>(named));
    score_.part_is_right = proportion(static_cast<double>(parts_right), static_cast<double>(parts));
    set_estimates();
  }

  void set_estimates() {
    const auto hits = static_cast<double>(score_.detected);
    const auto wrong = static_cast<double>(score_.false_findings);
    const auto faults = static_cast<double>(score_.faults);
    score_.precision = proportion(hits, hits + wrong);
    score_.recall = proportion(hits, faults);
    score_.f1 = f1_of(hits, wrong, faults - hits);
    score_.false_accusations.exposure = score_.exposure.node_days / 1000;
    score_.false_hangs.exposure = score_.exposure.job_days;
    for (Rate* rated : {&score_.false_accusations, &score_.false_hangs})
      rated->rate = rate(rated->events, rated->exposure);
  }

  [[nodiscard]] ClassScore class_score(const std::string& fault_class, const std::string& magnitude,
                                       const std::vector<std::size_t>& faults) const {
    ClassScore result;
    result.fault_class = fault_class;
    result.magnitude = magnitude;
    result.faults = faults.size();
    std::vector<double> delays;
    for (const std::size_t i : faults)
      if (detections_[i] != nullptr) delays.push_back(delay_of(i));
    result.detected = delays.size();
    result.recall = proportion(static_cast<double>(result.detected), static_cast<double>(result.faults));
    result.delays = delays_of(std::move(delays));
    return result;
  }

  const Labels& labels_;
  std::vector<const LoggedFinding*> counted_;     // by the time of their report
  std::vector<const LoggedFinding*> detections_;  // of each fault; null: missed
  std::vector<const LoggedFinding*> firsts_;
  Score score_;
};

}  // namespace

Score score(const Labels& labels, const RunLog& run) {
  return Scorer(labels, run).take();
}

}  // namespace autopilot::jobs
