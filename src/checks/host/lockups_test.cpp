// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostLockups : public LogCheckTest {
 protected:
  HostLockups() : LogCheckTest(kHostLockups, 60s) {}
  void SetUp() override { set_detectors("1\n", "1\n"); }
  void set_detectors(const std::string& soft, const std::string& hard) {
    folder_.write("/proc/sys/kernel/soft_watchdog", soft);
    folder_.write("/proc/sys/kernel/nmi_watchdog", hard);
  }
};

TEST_F(HostLockups, none_where_the_kernel_reports_none) {
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("/dev/kmsg", "/proc/sys/kernel"));
}

TEST_F(HostLockups, the_three_kinds) {
  log_.write(empty_.clock.now(), "watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [kworker/7:1:4242]");
  log_.write(empty_.clock.now(), "NMI watchdog: Watchdog detected hard LOCKUP on cpu 7");
  log_.write(empty_.clock.now(), "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:");
  EXPECT_THAT(reasons(), ElementsAre("degraded cpu_stuck", "degraded cpu_stuck_hard", "degraded rcu_stall"));
}

TEST_F(HostLockups, nobody_looks_where_the_detector_is_off) {
  set_detectors("0\n", "0\n");
  EXPECT_THAT(reasons(), ElementsAre("unknown could_not_look"));
  // What the kernel says nevertheless counts.
  log_.write(empty_.clock.now(), "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:");
  EXPECT_THAT(reasons(), ElementsAre("degraded rcu_stall"));
}

TEST_F(HostLockups, a_virtual_machine_without_the_hard_detector_is_looked_at) {
  set_detectors("1\n", "0\n");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostLockups, detectors_that_tell_nothing_sensible_are_unknown) {
  set_detectors("garbage\n", "garbage\n");
  EXPECT_THAT(reasons(), ElementsAre("unknown malformed_answer"));
  EXPECT_THAT(witnesses_, ElementsAre("/dev/kmsg"));
}

TEST_F(HostLockups, cannot_look_without_the_log) {
  log_.refuse();
  EXPECT_THAT(reasons(), ElementsAre("denied"));
}

}  // namespace
}  // namespace autopilot::checks
