// SPDX-License-Identifier: Apache-2.0
#include "learning/report/finding_quality.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace autopilot::learning {
namespace {

struct NodeRecords {
  std::vector<Fault> faults;
  std::vector<NodeJob> jobs;
  std::vector<Repair> repairs;
  std::vector<Label> labels;
};
using NodesWithLabels = std::map<std::string, NodeRecords, std::less<>>;

// The records that settle the faults with a label, by node. Other faults need none.
NodesWithLabels records_with_labels(const ReportRecords& records) {
  std::map<std::string_view, std::vector<const Label*>> labels;
  for (const Label& label : records.labels)
    if (!label.fault.empty()) labels[label.fault].push_back(&label);
  NodesWithLabels nodes;
  for (const Fault& fault : records.faults) {
    const auto found = labels.find(fault.id);
    if (found == labels.end()) continue;
    NodeRecords& node = nodes[node_key(fault.place)];
    node.faults.push_back(fault);
    for (const Label* label : found->second)
      node.labels.push_back(*label);
  }
  const auto node_of = [&nodes](const Place& place) { return nodes.find(node_key(place)); };
  for (const NodeJob& job : records.jobs)
    if (const auto node = node_of(job.place); node != nodes.end()) node->second.jobs.push_back(job);
  for (const Repair& repair : records.repairs)
    if (const auto node = node_of(repair.place); node != nodes.end()) node->second.repairs.push_back(repair);
  return nodes;
}

void count_label(TrustedPrecision& precision, const SettledFault& fault) {
  if (fault.answer == LabelAnswer::faulty) ++precision.right;
  if (fault.answer == LabelAnswer::healthy) ++precision.wrong;
}

void finish(TrustedPrecision& precision) {
  constexpr double kSide = 0.025;
  const auto right = static_cast<double>(precision.right);
  const auto wrong = static_cast<double>(precision.wrong);
  if (precision.right + precision.wrong > 0) precision.precision = right / (right + wrong);
  if (precision.right > 0) precision.bounds.low = beta_quantile(right, wrong + 1, kSide);
  if (precision.wrong > 0) precision.bounds.high = beta_quantile(right + 1, wrong, 1 - kSide);
}

using FindsByCheck = std::map<std::string, CheckFinds, std::less<>>;

void count_validation(FindsByCheck& checks, const Validation& validation) {
  std::set<std::string_view> answered;
  std::set<std::string_view> found;
  for (const CheckOutcome& outcome : validation.checks) {
    const bool is_find = outcome.health == Health::degraded || outcome.health == Health::failed;
    if (is_find) found.insert(outcome.check);
    if (is_find || outcome.health == Health::healthy) answered.insert(outcome.check);
  }
  for (const std::string_view check : answered) {
    CheckFinds& finds = checks[std::string(check)];
    ++finds.validations;
    if (!found.contains(check)) continue;
    ++finds.finds;
    if (found.size() == 1) ++finds.unique;
  }
}

std::vector<CheckFinds> in_order(FindsByCheck checks) {
  std::vector<CheckFinds> list;
  for (auto& [name, finds] : checks) {
    finds.check = name;
    finish(finds.labelled);
    list.push_back(std::move(finds));
  }
  std::ranges::stable_sort(list, [](const CheckFinds& a, const CheckFinds& b) {
    return std::tie(a.unique, a.finds, a.faults) > std::tie(b.unique, b.finds, b.faults);
  });
  return list;
}

using SettledById = std::span<const SettledFault>;

const SettledFault* answer_about(SettledById settled, const std::string& id) {
  const auto found = std::ranges::lower_bound(settled, id, {}, &SettledFault::fault);
  const bool is_known = found != settled.end() && found->fault == id && found->answer != LabelAnswer::unclear;
  return is_known ? &*found : nullptr;
}

void count_finding(FindingQuality& quality, std::map<double, TrustedPrecision, std::greater<>>& by_trust,
                   TrustedPrecision* of_check, const SettledFault* answer) {
  ++quality.findings;
  if (answer == nullptr) {
    ++quality.unlabelled;
    return;
  }
  count_label(by_trust[answer->trust], *answer);
  if (answer->trust < kLeastTrust) return;
  count_label(quality.all, *answer);
  if (of_check != nullptr) count_label(*of_check, *answer);
}

}  // namespace

std::vector<SettledFault> settle_all(const ReportRecords& records) {
  std::vector<SettledFault> all;
  for (const auto& [name, node] : records_with_labels(records)) {
    auto settled = settle(node.faults, node.labels, node.jobs, node.repairs);
    std::ranges::move(settled, std::back_inserter(all));
  }
  std::ranges::sort(all, {}, &SettledFault::fault);
  return all;
}

FindingQuality finding_quality(const ReportRecords& records, std::span<const SettledFault> settled,
                               const ReportInterval& interval) {
  FindingQuality quality;
  FindsByCheck checks;
  std::map<double, TrustedPrecision, std::greater<>> by_trust;
  for (const Validation& validation : records.validations)
    if (is_inside(interval, validation.end)) count_validation(checks, validation);
  for (const Fault& fault : records.faults) {
    if (!is_own_fault(fault) || !is_inside(interval, fault.begin)) continue;
    CheckFinds* finds = fault.check.empty() ? nullptr : &checks[fault.check];
    if (finds != nullptr) ++finds->faults;
    count_finding(quality, by_trust, finds == nullptr ? nullptr : &finds->labelled,
                  answer_about(settled, fault.id));
  }
  finish(quality.all);
  for (auto& [trust, precision] : by_trust) {
    precision.trust = trust;
    finish(precision);
    quality.by_trust.push_back(precision);
  }
  quality.checks = in_order(std::move(checks));
  return quality;
}

}  // namespace autopilot::learning
