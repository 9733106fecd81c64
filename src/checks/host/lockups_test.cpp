// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "checks/kernel_log/test_log.hpp"
#include "host/files/test_folder.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostLockups : public ::testing::Test {
 protected:
  void SetUp() override { set_detectors("1\n", "1\n"); }
  void set_detectors(const std::string& soft, const std::string& hard) {
    folder_.write("/proc/sys/kernel/soft_watchdog", soft);
    folder_.write("/proc/sys/kernel/nmi_watchdog", hard);
  }
  std::vector<std::string> words() {
    empty_.clock.advance(60s);
    const Instant now = empty_.clock.now();
    auto observed =
        kHostLockups.observe(host_, {.now = now, .deadline = now.mono + 5s, .kernel_log_from = from_});
    if (!observed) return {std::string(to_string(observed.error().code))};
    from_ = observed->kernel_log_next.value_or(from_);
    witnesses_ = observed->witnesses;
    history_.add(std::move(observed->observations), kHostLockups.info.window);
    std::vector<std::string> list;
    for (const Finding& finding : kHostLockups.judge(
             {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      list.push_back(std::string(to_string(finding.health)) + " " + finding.reason);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  TestLog log_;
  host::Host host_{empty_.clock,    files_,           log_,       empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t from_ = 0;
  std::vector<std::string> witnesses_;
};

TEST_F(HostLockups, none_where_the_kernel_reports_none) {
  EXPECT_THAT(words(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("/dev/kmsg", "/proc/sys/kernel"));
}

TEST_F(HostLockups, the_three_kinds) {
  log_.write(empty_.clock.now(), "watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [kworker/7:1:4242]");
  log_.write(empty_.clock.now(), "NMI watchdog: Watchdog detected hard LOCKUP on cpu 7");
  log_.write(empty_.clock.now(), "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:");
  EXPECT_THAT(words(), ElementsAre("degraded cpu_stuck", "degraded cpu_stuck_hard", "degraded rcu_stall"));
}

TEST_F(HostLockups, nobody_looks_where_the_detector_is_off) {
  set_detectors("0\n", "0\n");
  EXPECT_THAT(words(), ElementsAre("unknown could_not_look"));
  // What the kernel says nevertheless counts.
  log_.write(empty_.clock.now(), "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:");
  EXPECT_THAT(words(), ElementsAre("degraded rcu_stall"));
}

TEST_F(HostLockups, a_virtual_machine_without_the_hard_detector_is_looked_at) {
  set_detectors("1\n", "0\n");
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostLockups, cannot_look_without_the_log) {
  log_.refuse();
  EXPECT_THAT(words(), ElementsAre("denied"));
}

}  // namespace
}  // namespace autopilot::checks
