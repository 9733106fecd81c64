// SPDX-License-Identifier: Apache-2.0
// Fault traces. What is accepted becomes a history whose intervals are in order, and an evaluation or an
// error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/fault_trace.hpp"
#include "core/result.hpp"
#include "learning/hazard/hazard_evaluation.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::fault_trace_fuzz {
namespace {

void check_history(const learning::FleetHistory& fleet) {
  for (const learning::NodeHistory& node : fleet.nodes) {
    AUTOPILOT_ASSERT(!node.episodes.empty());
    double before = 0;
    for (const learning::Episode& episode : node.episodes) {
      AUTOPILOT_ASSERT(episode.begin_day >= before);
      AUTOPILOT_ASSERT(episode.end_day || &episode == &node.episodes.back());
      before = episode.end_day.value_or(fleet.end_day);
      AUTOPILOT_ASSERT(before >= episode.begin_day && before <= fleet.end_day);
    }
  }
}

void check_evaluation(const learning::FleetHistory& fleet) {
  learning::HazardEvaluationOptions options;
  options.fit_until_day = fleet.end_day / 2;
  options.horizon_days = fleet.end_day / 4;
  options.draws = 3;
  const auto result = learning::evaluate_hazard(fleet, options);
  if (!result) {
    AUTOPILOT_ASSERT(!result.error().what.empty());
    return;
  }
  for (const learning::HazardTerm& term : result->models.front().model.terms)
    AUTOPILOT_ASSERT(std::isfinite(term.faults) && term.faults >= 0);
  for (const learning::RankingResult& one : result->rankings)
    AUTOPILOT_ASSERT(one.precision.value >= 0 && one.precision.value <= 1 + 1e-9);
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const auto events = api::parse_fault_trace({static_cast<const char*>(bytes), size});
  if (!events) {
    AUTOPILOT_ASSERT(!events.error().what.empty());
    return 0;
  }
  const learning::TraceFaults trace = learning::pair_events(*events);
  const auto fleet = learning::make_fleet_history(trace.faults, std::nullopt, trace.end_day);
  if (!fleet) {
    AUTOPILOT_ASSERT(!fleet.error().what.empty());
    return 0;
  }
  check_history(*fleet);
  // A century in steps of a week is slow, and shows nothing more.
  if (fleet->end_day < 1000) check_evaluation(*fleet);
  return 0;
}

}  // namespace autopilot::fault_trace_fuzz
