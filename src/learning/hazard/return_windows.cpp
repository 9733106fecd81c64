// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/return_windows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace autopilot::learning {
namespace {

struct WindowTally {
  double episodes = 0;
  double inside = 0;
  double service_days = 0;
  double window_days = 0;

  void add(const WindowTally& other, double times) {
    episodes += times * other.episodes;
    inside += times * other.inside;
    service_days += times * other.service_days;
    window_days += times * other.window_days;
  }
  // NaN or infinite without an episode, or without a day in a window.
  [[nodiscard]] double lift() const { return (inside / episodes) / (window_days / service_days); }
};

WindowTally tally_of(const NodeHistory& node, double days, double from_day, double to_day) {
  WindowTally tally;
  tally.service_days = service_days(node, from_day, to_day);
  std::optional<double> returned;
  for (const Episode& episode : node.episodes) {
    if (episode.begin_day > from_day && episode.begin_day <= to_day) {
      tally.episodes += 1;
      if (returned && episode.begin_day - *returned <= days) tally.inside += 1;
    }
    if (returned)
      tally.window_days += std::max(
          0.0, std::min({*returned + days, episode.begin_day, to_day}) - std::max(*returned, from_day));
    returned = episode.end_day;
  }
  if (returned)
    tally.window_days += std::max(0.0, std::min(*returned + days, to_day) - std::max(*returned, from_day));
  return tally;
}

}  // namespace

ReturnWindow return_window(const FleetHistory& fleet, double days, double from_day, double to_day,
                           std::size_t draws, std::uint64_t seed) {
  std::vector<WindowTally> tallies;
  for (const NodeHistory& node : fleet.nodes)
    tallies.push_back(tally_of(node, days, from_day, to_day));
  const auto sum = [&](const NodeDraw& draw) {
    WindowTally all;
    for (std::size_t i = 0; i < tallies.size(); ++i)
      all.add(tallies[i], draw.nodes[i]);
    all.service_days += draw.without_fault * (to_day - from_day);
    return all;
  };
  const NodeDraws fleets(fleet.nodes.size(), fleet.without_fault, seed);
  const WindowTally all = sum(fleets.whole());
  ReturnWindow window{days,
                      static_cast<std::size_t>(std::lround(all.episodes)),
                      static_cast<std::size_t>(std::lround(all.inside)),
                      all.service_days,
                      all.window_days,
                      {}};
  if (all.episodes > 0 && all.window_days > 0)
    window.lift = bootstrap(fleets, draws, [&](const NodeDraw& draw) { return sum(draw).lift(); });
  return window;
}

}  // namespace autopilot::learning
