// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/episodes.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ratio>
#include <set>
#include <tuple>
#include <utility>

namespace autopilot::learning {
namespace {

using FloatDays = std::chrono::duration<double, std::ratio<86'400>>;

Status check_fault(const NodeFault& fault, double end_day) {
  const auto is_inside = [end_day](double day) { return std::isfinite(day) && day >= 0 && day <= end_day; };
  const std::string place = "fault of " + fault.node + " at day " + std::to_string(fault.begin_day) + ": ";
  if (!is_inside(fault.begin_day))
    return fail(Errc::malformed,
                place + "the begin is outside the history of 0 to " + std::to_string(end_day) + " days");
  if (!fault.end_day) return {};
  if (!is_inside(*fault.end_day))
    return fail(Errc::malformed, place + "the end, day " + std::to_string(*fault.end_day) +
                                     ", is outside the history of 0 to " + std::to_string(end_day) + " days");
  if (*fault.end_day < fault.begin_day)
    return fail(Errc::malformed,
                place + "the end, day " + std::to_string(*fault.end_day) + ", is before the begin");
  return {};
}

// Smaller is named first in an episode of several classes.
int rank_of(FaultClass kind) {
  switch (kind) {
    case FaultClass::hardware:
      return 0;
    case FaultClass::network:
      return 1;
    case FaultClass::unknown:
      return 2;
    case FaultClass::software:
      return 3;
    case FaultClass::application:
      break;
  }
  return 4;
}

void add_job(Episode& episode, const std::string& job) {
  if (job.empty() || std::ranges::find(episode.jobs, job) != episode.jobs.end()) return;
  episode.jobs.push_back(job);
}

Episode episode_of(const NodeFault& fault) {
  Episode episode{fault.begin_day, fault.end_day, fault.kind, fault.is_cleared, {}};
  add_job(episode, fault.job);
  return episode;
}

void join_fault(Episode& episode, const NodeFault& fault) {
  if (!fault.end_day)
    episode.end_day.reset();
  else if (episode.end_day)
    episode.end_day = std::max(*episode.end_day, *fault.end_day);
  if (rank_of(fault.kind) < rank_of(episode.kind)) episode.kind = fault.kind;
  episode.is_cleared = episode.is_cleared && fault.is_cleared;
  add_job(episode, fault.job);
}

void add_fault(NodeHistory& node, const NodeFault& fault) {
  if (!node.episodes.empty()) {
    Episode& last = node.episodes.back();
    if (!last.end_day || fault.begin_day < *last.end_day) return join_fault(last, fault);
  }
  node.episodes.push_back(episode_of(fault));
}

}  // namespace

Result<FleetHistory> make_fleet_history(std::vector<NodeFault> faults, std::optional<std::size_t> nodes,
                                        double end_day) {
  if (!std::isfinite(end_day) || end_day <= 0)
    return fail(Errc::malformed, "the history has no length; its end must be after day 0");
  std::erase_if(faults, [](const NodeFault& fault) { return fault.kind == FaultClass::application; });
  for (const NodeFault& fault : faults)
    TRY_STATUS(check_fault(fault, end_day));
  std::ranges::stable_sort(faults, {},
                           [](const NodeFault& fault) { return std::tie(fault.node, fault.begin_day); });
  FleetHistory fleet;
  fleet.end_day = end_day;
  for (const NodeFault& fault : faults) {
    if (fleet.nodes.empty() || fleet.nodes.back().node != fault.node) fleet.nodes.push_back({fault.node, {}});
    add_fault(fleet.nodes.back(), fault);
    if (fleet.nodes.back().episodes.size() > kMostEpisodesOfNode)
      return fail(Errc::exhausted,
                  "node " + fault.node + " has more than " + std::to_string(kMostEpisodesOfNode) +
                      " faults that do not overlap; check that its faults are not repeated reports of one");
  }
  const std::size_t count = nodes.value_or(fleet.nodes.size());
  if (count < fleet.nodes.size())
    return fail(Errc::malformed, std::to_string(fleet.nodes.size()) +
                                     " nodes have a fault, but the fleet has " + std::to_string(count) +
                                     " nodes; state the size of the whole fleet");
  if (count > kMostNodes)
    return fail(Errc::exhausted, std::to_string(count) + " nodes; at most " + std::to_string(kMostNodes) +
                                     " can be evaluated at once");
  fleet.without_fault = count - fleet.nodes.size();
  return fleet;
}

double day_of(WallTime time, WallTime origin) {
  return std::chrono::duration_cast<FloatDays>(time - origin).count();
}

WallTime time_of(double day, WallTime origin) {
  return origin + std::chrono::duration_cast<Duration>(FloatDays{day});
}

std::vector<NodeFault> node_faults(std::span<const Fault> faults, std::span<const Label> labels,
                                   WallTime origin) {
  std::set<std::string> cleared;
  for (const Label& label : labels)
    if (!label.fault.empty() && label.answer == LabelAnswer::healthy) cleared.insert(label.fault);
  std::vector<NodeFault> found;
  for (const Fault& fault : faults) {
    if (is_of_job(fault) || (fault.end && *fault.end < origin)) continue;
    const std::string node =
        fault.place.cluster.empty() ? fault.place.node : fault.place.cluster + "/" + fault.place.node;
    found.push_back({node, std::max(0.0, day_of(fault.begin, origin)),
                     fault.end ? std::optional(day_of(*fault.end, origin)) : std::nullopt, fault.kind,
                     cleared.contains(fault.id), fault.job});
  }
  return found;
}

std::vector<ServiceInterval> service_intervals(const NodeHistory& node, double from_day, double to_day) {
  std::vector<ServiceInterval> intervals;
  const auto add = [&](double from, double to) {
    const ServiceInterval interval{std::max(from, from_day), std::min(to, to_day)};
    if (interval.to_day > interval.from_day) intervals.push_back(interval);
  };
  double up_since = 0;
  for (const Episode& episode : node.episodes) {
    add(up_since, episode.begin_day);
    if (!episode.end_day || *episode.end_day >= to_day) return intervals;
    up_since = *episode.end_day;
  }
  add(up_since, to_day);
  return intervals;
}

double service_days(const NodeHistory& node, double from_day, double to_day) {
  double days = 0;
  for (const ServiceInterval& interval : service_intervals(node, from_day, to_day))
    days += interval.to_day - interval.from_day;
  return days;
}

double service_days(const FleetHistory& fleet, double from_day, double to_day) {
  double days = static_cast<double>(fleet.without_fault) * std::max(0.0, to_day - from_day);
  for (const NodeHistory& node : fleet.nodes)
    days += service_days(node, from_day, to_day);
  return days;
}

bool is_in_service(const NodeHistory& node, double day) {
  return std::ranges::none_of(node.episodes, [day](const Episode& episode) {
    return episode.begin_day <= day && (!episode.end_day || *episode.end_day > day);
  });
}

std::size_t begins_between(const NodeHistory& node, double from_day, double to_day) {
  return static_cast<std::size_t>(std::ranges::count_if(node.episodes, [&](const Episode& episode) {
    return episode.begin_day > from_day && episode.begin_day <= to_day;
  }));
}

std::size_t begins_between(const FleetHistory& fleet, double from_day, double to_day) {
  std::size_t count = 0;
  for (const NodeHistory& node : fleet.nodes)
    count += begins_between(node, from_day, to_day);
  return count;
}

std::optional<double> last_return(const NodeHistory& node, double day) {
  std::optional<double> last;
  for (const Episode& episode : node.episodes)
    if (episode.end_day && *episode.end_day <= day) last = episode.end_day;
  return last;
}

}  // namespace autopilot::learning
