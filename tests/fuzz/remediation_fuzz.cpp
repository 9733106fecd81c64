// SPDX-License-Identifier: Apache-2.0
// A policy, a line "---", and a history: refused with a reason, or replayed to its end. In every case a pod
// without an owner stays, nothing is done in mode observe, and every action has a reason and a plan.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "controller/replay.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::remediation_fuzz {
namespace {

using controller::ActionKind;

void check_action(const controller::Replay& replay, const controller::Policy& policy,
                  const controller::PlannedAction& action) {
  AUTOPILOT_ASSERT(!action.why.empty());
  if (action.kind == ActionKind::event || action.kind == ActionKind::mark_report) return;
  AUTOPILOT_ASSERT(!action.plan.empty());
  const bool is_removal = action.kind == ActionKind::evict_pod || action.kind == ActionKind::delete_pod;
  const controller::Pod* pod = is_removal ? replay.world().pod(action.target.uid) : nullptr;
  if (is_removal) AUTOPILOT_ASSERT(pod != nullptr && pod->owner);
  const controller::Node* node = replay.world().node(is_removal ? pod->node : action.target.name);
  AUTOPILOT_ASSERT(node != nullptr);
  if (policy.of(node->pool).mode == controller::Mode::observe) AUTOPILOT_ASSERT(action.is_recorded_only);
}

void replay_history(const controller::Policy& policy, std::string_view history) {
  const controller::Replay* current = nullptr;
  controller::Replay replay(
      policy,
      [&](WallTime, const controller::Plan& plan) {
        for (const controller::Decision& decision : plan.decisions)
          for (const controller::PlannedAction& action : decision.actions)
            check_action(*current, policy, action);
      },
      300);
  current = &replay;
  for (const std::string_view line : split(history, '\n')) {
    const auto event = controller::parse_history_event(line);
    if (!event) {
      AUTOPILOT_ASSERT(event.error().code == Errc::malformed && !event.error().what.empty());
      continue;
    }
    if (const auto taken = replay.take(*event); !taken && taken.error().code == Errc::exhausted) return;
  }
  (void)replay.finish();
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto border = text.find("---\n");
  const auto policy = controller::parse_policy(text.substr(0, border), "policy.yaml");
  if (!policy) {
    AUTOPILOT_ASSERT(policy.error().what.starts_with("policy.yaml:"));
    return 0;
  }
  if (border != std::string_view::npos) replay_history(*policy, text.substr(border + 4));
  return 0;
}

}  // namespace autopilot::remediation_fuzz
