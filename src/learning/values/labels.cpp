// SPDX-License-Identifier: Apache-2.0
#include "learning/values/labels.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace autopilot::learning {
namespace {

bool is_same_node(const Place& a, const Place& b) {
  return a.cluster == b.cluster && a.node == b.node;
}

bool is_stronger_label(const Label& a, const Label& b) {
  return std::tuple(trust_of(a.source), a.time, a.id) > std::tuple(trust_of(b.source), b.time, b.id);
}

bool has_both_answers(const std::map<LabelSource, const Label*>& labels) {
  return std::ranges::any_of(
      labels, [&](const auto& one) { return one.second->answer != labels.begin()->second->answer; });
}

}  // namespace

double trust_of(LabelSource source) {
  switch (source) {
    case LabelSource::rma:
    case LabelSource::vendor_diagnosis:
      return 0.95;
    case LabelSource::repeat_test:
      return 0.9;
    case LabelSource::exclusion:
      return 0.8;
    case LabelSource::user:
      return 0.7;
    case LabelSource::agreement:
      return 0.5;
  }
  return 0;
}

Duration healthy_job_time(const Fault& fault, std::span<const NodeJob> jobs,
                          std::span<const Repair> repairs) {
  const WallTime begin = fault.detected.value_or(fault.begin);
  WallTime end = fault.end.value_or(WallTime::max());
  for (const Repair& repair : repairs)
    if (is_same_node(repair.place, fault.place) && repair.begin >= begin) end = std::min(end, repair.begin);
  Duration sum{};
  for (const NodeJob& job : jobs) {
    if (!is_same_node(job.place, fault.place) || job.outcome != JobOutcome::completed || !job.end) continue;
    const WallTime from = std::max(job.start, begin);
    const WallTime to = std::min(*job.end, end);
    if (from < to) sum += to - from;
  }
  return sum;
}

std::vector<SettledFault> settle(std::span<const Fault> faults, std::span<const Label> labels,
                                 std::span<const NodeJob> jobs, std::span<const Repair> repairs) {
  std::map<std::string, const Label*, std::less<>> strongest;
  std::map<std::string, std::map<LabelSource, const Label*>, std::less<>> by_source;
  for (const Label& label : labels) {
    if (label.fault.empty() || label.answer == LabelAnswer::unclear) continue;
    if (trust_of(label.source) >= kLeastTrust) {
      const Label*& latest = by_source[label.fault][label.source];
      if (latest == nullptr || is_stronger_label(label, *latest)) latest = &label;
    }
    const Label*& held = strongest[label.fault];
    if (held == nullptr || is_stronger_label(label, *held)) held = &label;
  }
  std::vector<SettledFault> settled;
  for (const Fault& fault : faults) {
    SettledFault answer{.fault = fault.id,
                        .check = fault.check,
                        .kind = fault.kind,
                        .time = fault.detected.value_or(fault.begin)};
    if (const auto labelled = by_source.find(fault.id); labelled != by_source.end())
      answer.is_disputed = has_both_answers(labelled->second);
    const auto found = strongest.find(fault.id);
    const Label* label = found == strongest.end() ? nullptr : found->second;
    const bool is_known = label != nullptr && (label->answer == LabelAnswer::faulty ||
                                               healthy_job_time(fault, jobs, repairs) >= kHealthyJobTime);
    if (is_known) {
      answer.answer = label->answer;
      answer.trust = trust_of(label->source);
    }
    settled.push_back(std::move(answer));
  }
  std::ranges::sort(settled, {}, &SettledFault::fault);
  return settled;
}

}  // namespace autopilot::learning
