// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/parse.hpp"
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
  constexpr std::int64_t kMost = 64;
  for (const double after : effect.repeats(0, kAgain, kMost))
    effect.log(after, 2,
               "watchdog: BUG: soft lockup - CPU#7 stuck for " +
                   std::to_string(static_cast<int>(after + kAgain)) + "s! [kworker/7:1:4242]");
}

void apply_kernel_oops(FaultEffect& effect) {
  // Bit 7 of the taints: died. It stays when the fault is over.
  const std::string path = "/proc/sys/kernel/tainted";
  const auto before = parse_number<std::int64_t>(effect.files.value(path).value_or("0")).value_or(0);
  effect.files.write_number(path, before | 128);
  effect.log(0, 1, "BUG: kernel NULL pointer dereference, address: 0000000000000008");
  effect.log(0, 4, "Oops: 0000 [#1] PREEMPT SMP NOPTI");
}

void apply_pressure(FaultEffect& effect) {
  if (!effect.is_active) return;
  const std::string share = std::to_string(effect.share() * 100);
  const std::string shares =
      " avg10=" + share + " avg60=" + share + " avg300=" + share + " total=9918402311\n";
  const bool is_cpu = effect.kind == "cpu";
  effect.files.write(
      "/proc/pressure/" + effect.kind,
      "some" + shares + (is_cpu ? "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n" : "full" + shares));
}

}  // namespace autopilot::simulator
