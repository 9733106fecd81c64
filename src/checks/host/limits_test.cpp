// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostLimits : public LogCheckTest {
 protected:
  HostLimits() : LogCheckTest(kHostLimits, 60s) {}
  void SetUp() override {
    set_files("18432", "9223372036854775807");
    set_tasks("900", "4127000", "4194304");
  }
  void set_files(const std::string& used, const std::string& most) {
    folder_.write("/proc/sys/fs/file-nr", used + "\t0\t" + most + "\n");
  }
  void set_tasks(const std::string& used, const std::string& threads, const std::string& numbers) {
    folder_.write("/proc/loadavg", "1.0 1.0 1.0 1/" + used + " 4242\n");
    folder_.write("/proc/sys/kernel/threads-max", threads);
    folder_.write("/proc/sys/kernel/pid_max", numbers);
  }
};

TEST_F(HostLimits, room_is_left) {
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostLimits, the_smaller_of_two_limits_of_tasks_counts) {
  set_tasks("32000", "4127000", "32768");
  EXPECT_THAT(reasons(), ElementsAre("degraded tasks_near_limit"));
  set_tasks("32000", "32768", "4194304");
  EXPECT_THAT(reasons(), ElementsAre("degraded tasks_near_limit"));
}

TEST_F(HostLimits, nearly_all_files_are_open) {
  set_files("95", "100");
  EXPECT_THAT(reasons(), ElementsAre("degraded files_near_limit"));
  set_files("90", "100");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostLimits, a_table_without_a_limit_is_never_full) {
  folder_.write("/proc/sys/net/netfilter/nf_conntrack_count", "5");
  folder_.write("/proc/sys/net/netfilter/nf_conntrack_max", "0");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostLimits, a_limit_that_was_reached_counts_for_half_an_hour) {
  log_.write(empty_.clock.now(), "VFS: file-max limit 1048576 reached");
  EXPECT_THAT(reasons(), ElementsAre("degraded kernel_limit_reached"));
  empty_.clock.advance(31min);
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostLimits, looks_without_the_log_and_not_without_any_number) {
  log_.refuse();
  set_files("95", "100");
  EXPECT_THAT(reasons(), ElementsAre("degraded files_near_limit"));
  set_files("many", "100");
  EXPECT_THAT(reasons(), ElementsAre("unknown malformed_answer"));
  folder_.write("/proc/loadavg", "many\n");
  EXPECT_THAT(reasons(), ElementsAre("malformed"));
}

TEST_F(HostLimits, the_log_alone_cannot_tell_how_near_the_limits_are) {
  folder_.write("/proc/loadavg", "many\n");
  set_files("many", "100");
  EXPECT_THAT(reasons(), ElementsAre("unknown malformed_answer"));
  EXPECT_THAT(witnesses_, ElementsAre("/dev/kmsg"));
}

}  // namespace
}  // namespace autopilot::checks
