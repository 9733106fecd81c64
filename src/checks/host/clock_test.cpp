// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct FakeTimeSync : host::TimeSync {
  Result<host::TimeSyncState> answer = host::TimeSyncState{.synchronised = true,
                                                           .clock_error = false,
                                                           .offset_ns = 20'000,
                                                           .max_error_us = 3'000,
                                                           .estimated_error_us = 100,
                                                           .clocksource = "tsc",
                                                           .available_clocksources = "tsc hpet acpi_pm"};
  [[nodiscard]] Result<host::TimeSyncState> read() const override { return answer; }
};

class HostClock : public ::testing::Test {
 protected:
  Result<Observed> observe() {
    const Instant now = empty_.clock.now();
    return kHostClock.observe(host_, {.now = now, .deadline = now.mono + 2s});
  }
  std::vector<std::string> reasons() {
    auto observed = observe();
    EXPECT_TRUE(observed);
    history_.add(observed->observations, kHostClock.info.window);
    std::vector<std::string> words;
    for (const auto& finding :
         kHostClock.judge({empty_.clock.now(), history_, catalog::builtin(), expectation_})) {
      EXPECT_EQ(finding.health, Health::degraded);
      words.push_back(finding.reason);
    }
    return words;
  }

  fakes::EmptyHost empty_;
  FakeTimeSync time_sync_;
  host::Host host_{empty_.clock,       empty_.files,    empty_.kernel_log, empty_.gpus,
                   empty_.filesystems, empty_.ethernet, time_sync_,        empty_.nvme};
  History history_;
  Expectation expectation_;
};

TEST_F(HostClock, a_disciplined_clock_on_a_fast_source_is_healthy) {
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_THAT(observe()->witnesses, ElementsAre("adjtimex", "sysfs"));
}

TEST_F(HostClock, a_clock_that_nobody_disciplines_is_one_finding) {
  time_sync_.answer->synchronised = false;
  time_sync_.answer->clock_error = true;
  time_sync_.answer->max_error_us = 16'000'000;  // what the kernel says when nobody tells it better
  EXPECT_THAT(reasons(), ElementsAre("clock_unsynchronised"));
}

TEST_F(HostClock, a_mark_that_a_time_service_leaves_on_purpose_is_no_finding) {
  time_sync_.answer->synchronised = false;
  time_sync_.answer->clock_error = true;
  EXPECT_THAT(reasons(), IsEmpty());
  time_sync_.answer->max_error_us = 1'500'000;  // it has lost its servers
  empty_.clock.advance(1min);
  EXPECT_THAT(reasons(), ElementsAre("clock_error_large"));
}

TEST_F(HostClock, a_clock_that_the_kernel_calls_faulty_is_a_finding) {
  time_sync_.answer->clock_error = true;
  EXPECT_THAT(reasons(), ElementsAre("clock_unsynchronised"));
}

TEST_F(HostClock, a_large_error_or_offset_counts_in_either_direction) {
  time_sync_.answer->max_error_us = 1'500'000;
  EXPECT_THAT(reasons(), ElementsAre("clock_error_large"));
  time_sync_.answer->max_error_us = 3'000;
  time_sync_.answer->offset_ns = -200'000'000;
  empty_.clock.advance(1min);
  EXPECT_THAT(reasons(), ElementsAre("clock_error_large"));
}

TEST_F(HostClock, a_slow_clock_source_means_that_the_kernel_gave_up_the_fast_one) {
  time_sync_.answer->clocksource = "hpet";
  time_sync_.answer->available_clocksources =
      "hpet acpi_pm";  // the kernel takes an unstable TSC off the list
  EXPECT_THAT(reasons(), ElementsAre("clocksource_fallback"));
}

TEST_F(HostClock, clock_sources_of_virtual_machines_and_other_processors_are_sound) {
  for (const char* source : {"kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter", "tsc"}) {
    time_sync_.answer->clocksource = source;
    empty_.clock.advance(1min);
    EXPECT_THAT(reasons(), IsEmpty()) << source;
  }
}

TEST_F(HostClock, judges_what_it_sees_when_the_source_is_not_told) {
  time_sync_.answer->clocksource.clear();
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_THAT(observe()->witnesses, ElementsAre("adjtimex"));
}

TEST_F(HostClock, passes_on_why_it_cannot_look) {
  time_sync_.answer = fail(Errc::denied, "adjtimex: Operation not permitted");
  EXPECT_EQ(observe().error().code, Errc::denied);
}

}  // namespace
}  // namespace autopilot::checks
