// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostKernel : public LogCheckTest {
 protected:
  HostKernel() : LogCheckTest(kHostKernel, 60s) {}
  void set_taint(std::int64_t taint) { folder_.write("/proc/sys/kernel/tainted", std::to_string(taint)); }
  void oops() {
    log_.write(empty_.clock.now(), "BUG: kernel NULL pointer dereference, address: 0000000000000008");
  }
};

TEST_F(HostKernel, the_taints_of_a_driver_and_of_a_warning_are_no_fault) {
  set_taint(12289 | 1 << 9);
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("/proc/sys/kernel/tainted", "/dev/kmsg"));
}

TEST_F(HostKernel, one_fault_is_one_finding_with_the_line_and_without_it) {
  set_taint(1 << 7);
  oops();
  EXPECT_THAT(reasons(), ElementsAre("degraded kernel_oops"));
  EXPECT_THAT(reasons(3h),
              ElementsAre("degraded kernel_oops"));  // the line is old, the kernel still the same
}

TEST_F(HostKernel, a_page_in_an_impossible_state) {
  set_taint(1 << 5);
  EXPECT_THAT(reasons(), ElementsAre("degraded kernel_bad_page"));
}

TEST_F(HostKernel, an_interface_that_the_kernel_cannot_let_go_of) {
  set_taint(0);
  say("unregister_netdevice: waiting for eth0 to become free. Usage count = 1");
  EXPECT_THAT(reasons(), ElementsAre("degraded interface_leak"));
  EXPECT_THAT(reasons(11min), IsEmpty());
}

TEST_F(HostKernel, a_fault_in_the_words_of_arm_and_without_a_reason_in_front) {
  set_taint(0);
  say("Internal error: Oops: 0000000096000004 [#1] SMP");
  EXPECT_THAT(reasons(), ElementsAre("degraded kernel_oops"));
}

TEST_F(HostKernel, a_fault_of_a_program_is_not_the_kernels) {
  set_taint(0);
  log_.write(empty_.clock.now(),
             "traps: python3[4242] general protection fault ip:7f00 sp:7ffe error:0 in x.so");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostKernel, looks_without_the_log_and_without_the_file_but_not_without_both) {
  set_taint(1 << 7);
  log_.refuse();
  EXPECT_THAT(reasons(), ElementsAre("degraded kernel_oops"));
  EXPECT_THAT(witnesses_, ElementsAre("/proc/sys/kernel/tainted"));
  folder_.write("/proc/sys/kernel/tainted", "many");
  EXPECT_THAT(reasons(), ElementsAre("malformed"));
}

TEST_F(HostKernel, a_machine_check_and_a_lockup_are_told_after_their_lines_are_gone) {
  set_taint(1 << 4 | 1 << 14);
  EXPECT_THAT(reasons(), ElementsAre("degraded kernel_machine_check", "degraded kernel_soft_lockup"));
}

TEST_F(HostKernel, the_log_tells_what_it_can_and_the_taints_are_unknown) {
  EXPECT_THAT(reasons(), ElementsAre("unknown could_not_look"));
  oops();
  EXPECT_THAT(reasons(), ElementsAre("degraded kernel_oops", "unknown could_not_look"));
  EXPECT_THAT(witnesses_, ElementsAre("/dev/kmsg"));
}

}  // namespace
}  // namespace autopilot::checks
