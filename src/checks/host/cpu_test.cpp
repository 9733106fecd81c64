// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const std::string kCpus = "/sys/devices/system/cpu";

class HostCpu : public LogCheckTest {
 protected:
  HostCpu() : LogCheckTest(kHostCpu, 60s) {}
  void set_online(const std::string& online, const std::string& present = "0-3") {
    folder_.write(kCpus + "/online", online + "\n");
    folder_.write(kCpus + "/present", present + "\n");
  }
  void set_package(int cpu, int package, std::int64_t throttled_milliseconds) {
    const std::string folder = kCpus + "/cpu" + std::to_string(cpu);
    folder_.write(folder + "/topology/physical_package_id", std::to_string(package) + "\n");
    folder_.write(folder + "/thermal_throttle/package_throttle_total_time_ms",
                  std::to_string(throttled_milliseconds) + "\n");
  }
};

TEST_F(HostCpu, all_processors_work) {
  set_online("0-3");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostCpu, one_is_switched_off) {
  set_online("0-1,3");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(reason_of(findings[0]), "degraded cpu_offline");
  EXPECT_EQ(findings[0].message, "1 of 4 processors are offline");
}

TEST_F(HostCpu, without_multithreading_the_second_ones_are_off_on_purpose) {
  set_online("0,2");
  folder_.write(kCpus + "/smt/control", "forceoff\n");
  EXPECT_THAT(reasons(), IsEmpty());
  folder_.write(kCpus + "/smt/control", "on\n");
  EXPECT_THAT(reasons(), ElementsAre("degraded cpu_offline"));
}

TEST_F(HostCpu, heat_slows_one_package_down) {
  set_online("0-3");
  set_package(0, 0, 500);
  set_package(1, 0, 500);
  set_package(2, 1, 0);
  EXPECT_THAT(reasons(), IsEmpty());
  set_package(0, 0, 501);
  set_package(2, 1, 15'000);
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(reason_of(findings[0]), "degraded cpu_throttled");
  EXPECT_THAT(findings[0].message, HasSubstr("package 1"));
  EXPECT_THAT(findings[0].message, HasSubstr("25 % of the last 1m"));
}

TEST_F(HostCpu, a_short_peak_of_heat_is_normal) {
  set_online("0-3");
  set_package(0, 0, 0);
  EXPECT_THAT(reasons(), IsEmpty());
  set_package(0, 0, 1'000);
  EXPECT_THAT(reasons(), IsEmpty());
  say("mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 4)");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostCpu, where_no_kernel_counts_the_time_two_rows_minutes_apart_are_heat) {
  set_online("0-3");
  say("mce: CPU4: Core temperature above threshold, cpu clock throttled (total events = 105)");
  say("mce: CPU0: Package temperature above threshold, cpu clock throttled (total events = 232)");
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_THAT(reasons(4min), IsEmpty());
  say("mce: CPU2: Package temperature above threshold, cpu clock throttled (total events = 253)");
  EXPECT_THAT(reasons(), ElementsAre("degraded cpu_throttled"));
}

TEST_F(HostCpu, the_machine_is_about_to_switch_off) {
  set_online("0-3");
  say("thermal thermal_zone0: critical temperature reached(100 C), shutting down");
  EXPECT_THAT(reasons(), ElementsAre("degraded machine_overheats"));
  EXPECT_THAT(reasons(31min), IsEmpty());
}

TEST_F(HostCpu, looks_without_the_log_and_not_without_both) {
  log_.refuse();
  set_online("0-1,3");
  EXPECT_THAT(reasons(), ElementsAre("degraded cpu_offline"));
  set_online("many");
  EXPECT_THAT(reasons(), ElementsAre("malformed"));
}

TEST_F(HostCpu, the_log_alone_cannot_tell_that_all_work) {
  set_online("garbage");
  EXPECT_THAT(reasons(), ElementsAre("unknown malformed_answer"));
  EXPECT_THAT(witnesses_, ElementsAre("/dev/kmsg"));
}

TEST_F(HostCpu, garbage_in_the_counter_is_left_out) {
  set_online("0-3");
  set_package(0, 0, 0);
  EXPECT_THAT(reasons(), IsEmpty());
  folder_.write(kCpus + "/cpu0/thermal_throttle/package_throttle_total_time_ms", "hot\n");
  EXPECT_THAT(reasons(), IsEmpty());
}

}  // namespace
}  // namespace autopilot::checks
