// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/effects.hpp"

namespace autopilot::controller {
namespace {

void change_node(World& world, const PlannedAction& action, WallTime now) {
  const Node* old = world.node(action.target.name);
  if (old == nullptr) return;
  Node node = *old;
  switch (action.kind) {
    case ActionKind::cordon:
      node.is_unschedulable = true;
      node.held = Hold{.plan = action.plan, .since = now};
      break;
    case ActionKind::uncordon:
      node.is_unschedulable = false;
      node.held.reset();
      break;
    case ActionKind::release:
      node.held.reset();
      break;
    case ActionKind::taint:
      node.probation = action.probation;
      break;
    case ActionKind::remove_taint:
      node.probation.reset();
      break;
    default:
      return;
  }
  world.put(std::move(node));
}

}  // namespace

void apply(World& world, const PlannedAction& action, WallTime now) {
  if (action.is_recorded_only) return;
  switch (action.kind) {
    case ActionKind::evict_pod:
    case ActionKind::delete_pod:
      world.remove_pod(action.target.uid);
      return;
    case ActionKind::mark_report:
      if (const Report* old = world.report(action.target.name)) {
        Report report = *old;
        report.phase = action.report_phase;
        world.put(std::move(report));
      }
      return;
    default:
      change_node(world, action, now);
  }
}

void apply(World& world, const Decision& decision, WallTime now) {
  const bool is_end = decision.entry && decision.entry->phase == Phase::over;
  if (decision.entry && !is_end) world.put(*decision.entry);
  std::optional<LedgerEntry> noted = decision.entry;
  for (const PlannedAction& action : decision.actions) {
    apply(world, action, now);
    if (!noted || !is_noted(action.kind) || action.is_recorded_only) continue;
    noted->updated = now;
    note_done(
        *noted,
        DoneStep{
            .kind = action.kind, .target = action.target_key(), .at = now, .is_counted = action.is_counted});
  }
  if (noted) world.put(std::move(*noted));
}

}  // namespace autopilot::controller
