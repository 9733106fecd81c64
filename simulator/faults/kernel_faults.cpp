// SPDX-License-Identifier: Apache-2.0
#include "faults/effect.hpp"

namespace autopilot::simulator {

void apply_lockup(FaultEffect& effect) {
  if (effect.kind == "hard") {
    effect.log(0, 0, "NMI watchdog: Watchdog detected hard LOCKUP on cpu 7");
    return;
  }
  if (effect.kind == "rcu") {
    effect.log(0, 3, "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:");
    effect.log(0, 3, "rcu: \t7-...!: (1 GPs behind) idle=0d4c/1/0x4000000000000000 softirq=1184/1185 fqs=2 ");
    return;
  }
  // The kernel repeats it for as long as it lasts.
  constexpr double kAgain = 26;
  const double last = std::min(effect.seconds, kAgain * 64);
  for (double after = 0; after <= last; after += kAgain)
    effect.log(after, 2,
               "watchdog: BUG: soft lockup - CPU#7 stuck for " +
                   std::to_string(static_cast<int>(after + kAgain)) + "s! [kworker/7:1:4242]");
}

}  // namespace autopilot::simulator
