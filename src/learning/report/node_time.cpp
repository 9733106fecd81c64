// SPDX-License-Identifier: Apache-2.0
#include "learning/report/node_time.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace autopilot::learning {
namespace {

struct Span {
  WallTime begin{}, end{};
};
using SpansOfNodes = std::map<std::string, std::vector<Span>, std::less<>>;

// Hours that at least one of the spans covers, from `from` on.
double covered_hours(std::vector<Span> spans, WallTime from) {
  std::ranges::sort(spans, {}, &Span::begin);
  double hours = 0;
  WallTime covered_until = from;
  for (const Span& span : spans) {
    const WallTime begin = std::max(span.begin, covered_until);
    if (span.end <= begin) continue;
    hours += hours_between(begin, span.end);
    covered_until = span.end;
  }
  return hours;
}

void add_span(SpansOfNodes& spans, const Place& place, WallTime begin, std::optional<WallTime> end,
              const ReportInterval& interval) {
  spans[node_key(place)].push_back({begin, std::min(end.value_or(interval.until), interval.until)});
}

SpansOfNodes unusable_spans(const ReportRecords& records, const ReportInterval& interval, NodeTime& time) {
  SpansOfNodes spans;
  for (const Fault& fault : records.faults) {
    if (!is_own_fault(fault) || fault.kind == FaultClass::application) continue;
    if (!overlaps(interval, fault.begin, fault.end)) continue;
    if (fault.health == Health::unknown) ++time.of_unknown;
    if (fault.health != Health::failed) continue;
    ++time.faults;
    add_span(spans, fault.place, fault.begin, fault.end, interval);
  }
  for (const Repair& repair : records.repairs) {
    if (!overlaps(interval, repair.begin, repair.end)) continue;
    ++time.repairs;
    add_span(spans, repair.place, repair.begin, repair.end, interval);
  }
  return spans;
}

}  // namespace

std::optional<double> NodeTime::availability() const {
  if (known_hours <= 0) return std::nullopt;
  return 1 - unusable_hours / known_hours;
}

NodeTime node_time(const ReportRecords& records, const ReportInterval& interval) {
  NodeTime time;
  const SpansOfNodes spans = unusable_spans(records, interval, time);
  for (const auto& [node, seen] : records.first_seen) {
    if (seen >= interval.until) continue;
    ++time.nodes;
    const WallTime from = std::max(seen, interval.since);
    time.known_hours += hours_between(from, interval.until);
    const auto found = spans.find(node);
    if (found == spans.end()) continue;
    const double hours = covered_hours(found->second, from);
    time.unusable_hours += hours;
    if (hours > 0) time.unusable_hours_of.emplace(node, hours);
  }
  return time;
}

double hours_between(WallTime from, WallTime to) {
  using Hours = std::chrono::duration<double, std::ratio<3600>>;
  return std::chrono::duration_cast<Hours>(to - from).count();
}

bool overlaps(const ReportInterval& interval, WallTime begin, std::optional<WallTime> end) {
  return begin < interval.until && (!end || *end > interval.since);
}

bool is_inside(const ReportInterval& interval, WallTime time) {
  return interval.since <= time && time < interval.until;
}

}  // namespace autopilot::learning
