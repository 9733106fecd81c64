// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/taken_back.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>

#include "checks/kernel_log/driver_events.hpp"

namespace autopilot::checks {
namespace {

class TakenBackTest : public testing::Test {
 protected:
  void told(int code, const std::string& address = "0000:3b:00", int facility = 0, bool injected = false) {
    host::KernelRecord& record = log_.records.emplace_back();
    record.sequence = log_.records.size();
    record.time.mono = MonoTime{std::chrono::seconds{static_cast<int>(log_.records.size())}};
    record.facility = facility;
    record.injected = injected;
    record.text = "NVRM: Xid (PCI:" + address + "): " + std::to_string(code) + ", power smoothing";
  }
  [[nodiscard]] std::size_t taken_back() const {
    return taken_back_in(collect_driver_events(log_).events, catalog::builtin()).size();
  }
  // Whether the first record is over by the last one.
  [[nodiscard]] bool is_first_over() const {
    const Observations events = collect_driver_events(log_).events;
    return is_over(events.front(), taken_back_by(events.back(), catalog::builtin()));
  }

  host::KernelRecords log_;
};

TEST_F(TakenBackTest, power_smoothing_that_works_again_ends_what_was_said_before) {
  told(163);
  told(162);
  EXPECT_TRUE(is_first_over());
  EXPECT_EQ(taken_back(), 1U);
}

TEST_F(TakenBackTest, what_is_told_again_later_stands) {
  told(162);
  told(163);
  EXPECT_FALSE(is_first_over());
  EXPECT_EQ(taken_back(), 0U);
}

TEST_F(TakenBackTest, another_gpu_and_another_error_are_not_meant) {
  told(163);
  told(162, "0000:5e:00");
  EXPECT_FALSE(is_first_over());
  log_.records.clear();
  told(54);
  told(162);
  EXPECT_FALSE(is_first_over());
}

TEST_F(TakenBackTest, what_user_space_wrote_takes_nothing_back) {
  told(163);
  told(162, "0000:3b:00", 1);
  EXPECT_FALSE(is_first_over());
  EXPECT_EQ(taken_back(), 0U);
}

TEST_F(TakenBackTest, a_drill_ends_only_its_own_fault) {
  told(163);
  told(162, "0000:3b:00", 1, true);
  EXPECT_FALSE(is_first_over());
  EXPECT_EQ(taken_back(), 0U);
  log_.records.clear();
  told(163, "0000:3b:00", 1, true);
  told(162, "0000:3b:00", 1, true);
  EXPECT_TRUE(is_first_over());
}

}  // namespace
}  // namespace autopilot::checks
