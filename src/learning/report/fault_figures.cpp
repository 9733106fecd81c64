// SPDX-License-Identifier: Apache-2.0
#include "learning/report/fault_figures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "learning/intervals/intervals.hpp"

namespace autopilot::learning {
namespace {

bool is_labelled_healthy(std::span<const SettledFault> settled, const std::string& id) {
  const auto found = std::ranges::lower_bound(settled, id, {}, &SettledFault::fault);
  return found != settled.end() && found->fault == id && found->answer == LabelAnswer::healthy &&
         found->trust >= kLeastTrust;
}

struct RepairTimes {
  std::size_t count = 0;
  double hours = 0;
};

// The value that at least the share of the sorted values does not exceed.
double nearest_rank(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void add_times(ClassFigures& figures, const RepairTimes& times, double known_hours) {
  figures.ended = times.count;
  if (times.count > 0) figures.mttr_hours = times.hours / static_cast<double>(times.count);
  if (known_hours <= 0) return;
  if (figures.faults > 0) figures.mtbf_hours = known_hours / static_cast<double>(figures.faults);
  const Interval bounds = count_bounds(figures.faults);
  figures.mtbf_low_hours = known_hours / bounds.high;
  if (bounds.low > 0) figures.mtbf_high_hours = known_hours / bounds.low;
}

// Adds up faults one by one.
class FaultCounter {
 public:
  explicit FaultCounter(const ReportInterval& interval) : interval_(interval) {}

  void add(const Fault& fault) {
    const auto index = static_cast<std::size_t>(fault.kind);
    if (fault.end && is_inside(interval_, *fault.end)) {
      ++repairs_[index].count;
      repairs_[index].hours += hours_between(fault.begin, *fault.end);
    }
    if (!is_inside(interval_, fault.begin)) return;
    ClassFigures& figures = figures_.classes[index];
    ++figures.faults;
    if (!fault.end || *fault.end >= interval_.until) ++figures.open;
    NodeFaults& node = nodes_[node_key(fault.place)];
    ++node.faults;
    if (fault.kind == FaultClass::hardware) ++node.hardware;
    add_delay(fault);
  }

  void skip_healthy(const Fault& fault) {
    if (is_inside(interval_, fault.begin)) ++figures_.labelled_healthy;
  }

  FaultFigures take(const NodeTime& time) {
    for (std::size_t i = 0; i < figures_.classes.size(); ++i) {
      figures_.classes[i].kind = static_cast<FaultClass>(i);
      add_times(figures_.classes[i], repairs_[i], time.known_hours);
    }
    finish_delay();
    finish_nodes(time);
    return std::move(figures_);
  }

 private:
  void add_delay(const Fault& fault) {
    if (fault.detected && *fault.detected >= fault.begin)
      delays_.push_back(to_seconds(*fault.detected - fault.begin));
    else
      ++figures_.delay.unknown;
  }

  void finish_delay() {
    constexpr double kHalf = 0.5;
    constexpr double kNineTenths = 0.9;
    figures_.delay.known = delays_.size();
    if (delays_.empty()) return;
    std::ranges::sort(delays_);
    figures_.delay.median_seconds = nearest_rank(delays_, kHalf);
    figures_.delay.p90_seconds = nearest_rank(delays_, kNineTenths);
  }

  void finish_nodes(const NodeTime& time) {
    figures_.nodes_with_fault = nodes_.size();
    for (auto& [name, node] : nodes_) {
      node.node = name;
      const auto found = time.unusable_hours_of.find(name);
      if (found != time.unusable_hours_of.end()) node.unusable_hours = found->second;
      figures_.worst.push_back(std::move(node));
    }
    std::ranges::stable_sort(figures_.worst, std::ranges::greater{}, &NodeFaults::faults);
    if (figures_.worst.size() > FaultFigures::kMostNodesShown)
      figures_.worst.resize(FaultFigures::kMostNodesShown);
  }

  const ReportInterval& interval_;
  FaultFigures figures_;
  std::array<RepairTimes, 5> repairs_;
  std::vector<double> delays_;
  std::map<std::string, NodeFaults, std::less<>> nodes_;
};

}  // namespace

FaultFigures fault_figures(const ReportRecords& records, std::span<const SettledFault> settled,
                           const NodeTime& time, const ReportInterval& interval) {
  FaultCounter counter(interval);
  for (const Fault& fault : records.faults) {
    if (!is_own_fault(fault)) continue;
    if (is_labelled_healthy(settled, fault.id))
      counter.skip_healthy(fault);
    else
      counter.add(fault);
  }
  return counter.take(time);
}

}  // namespace autopilot::learning
