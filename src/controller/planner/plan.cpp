// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/plan.hpp"

namespace autopilot::controller {

std::string PlannedAction::target_key() const {
  switch (kind) {
    case ActionKind::evict_pod:
    case ActionKind::delete_pod:
      return target.uid;
    case ActionKind::request:
      return std::string(to_string(request));
    case ActionKind::event:
      return reason + ' ' + target.kind + '/' + target.name_space + '/' + target.name +
             (about.empty() ? "" : ' ' + about);
    default:
      return target.name;
  }
}

bool is_noted(ActionKind kind) {
  switch (kind) {
    case ActionKind::cordon:
    case ActionKind::evict_pod:
    case ActionKind::delete_pod:
    case ActionKind::deep_test:
    case ActionKind::request:
    case ActionKind::event:
      return true;
    default:
      return false;
  }
}

}  // namespace autopilot::controller
