// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/syslog_source.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>

#include "host/clock/system_clock.hpp"
#include "tests/support/host/test_clock.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

TEST(SyslogRow, splits_priority_time_and_text) {
  const auto row = parse_syslog_row("<11>[   12.345678] NVRM: Xid [x]");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->facility, 1);
  EXPECT_EQ(row->priority, 3);
  EXPECT_EQ(row->microseconds, 12'345'678U);
  EXPECT_EQ(row->text, "NVRM: Xid [x]");
  const auto with_caller = parse_syslog_row("<6>[   12.345678][    T1] text");
  ASSERT_TRUE(with_caller);
  EXPECT_EQ(with_caller->text, "text");
}

TEST(SyslogRow, refuses_other_forms) {
  for (const char* row :
       {"", "text", "<6>text", "<x>[1.000000] text", "<6>[1.0] text", "<6>[1.00000x] text", "<6>[1.000000",
        "<6[1.000000] text", "<6>[99999999999999999999.000000] text", "<6>[999999999999999.000000] text"})
    EXPECT_FALSE(parse_syslog_row(row)) << row;
}

TEST(SyslogRow, has_a_number_that_grows_with_time_and_is_the_same_again) {
  const auto number = [](std::string_view text) { return syslog_sequence(*parse_syslog_row(text)); };
  EXPECT_LT(number("<6>[1.000000] b"), number("<6>[1.000001] a"));
  EXPECT_NE(number("<6>[1.000000] a"), number("<6>[1.000000] b"));
  EXPECT_EQ(number("<6>[1.000000] a"), number("<6>[1.000000] a"));
}

// A ring that a test fills.
struct Ring {
  std::string text;
  [[nodiscard]] std::unique_ptr<SyslogSource> source(const Clock& clock) const {
    auto made = SyslogSource::with_read([this]() -> Result<std::string> { return text; }, clock);
    EXPECT_TRUE(made);
    return std::move(*made);
  }
};

TEST(SyslogSource, gives_each_row_once) {
  const FixedClock clock;
  Ring ring{"<6>[1.000000] a\n<6>[2.000000] a\n"};
  const auto source = ring.source(clock);
  EXPECT_EQ(source->next(0s)->size(), 2U);
  ring.text += "<6>[2.000000] a\n<3>[3.000000] b\n";
  const auto more = source->next(1ms);
  ASSERT_TRUE(more);
  ASSERT_EQ(more->size(), 2U);
  EXPECT_EQ(more->back().record.text, "b");
  EXPECT_EQ(more->front().lost_before, 0U);
  EXPECT_TRUE(source->next(1ms)->empty());
}

TEST(SyslogSource, says_that_rows_were_lost_when_the_place_is_gone) {
  const FixedClock clock;
  Ring ring{"<6>[1.000000] a\n<6>[2.000000] b\n"};
  const auto source = ring.source(clock);
  ASSERT_EQ(source->next(0s)->size(), 2U);
  ring.text = "<6>[8.000000] c\n<6>[9.000000] d\n";
  const auto more = source->next(1ms);
  ASSERT_EQ(more->size(), 2U);
  EXPECT_EQ(more->front().lost_before, 1U);
  EXPECT_EQ(more->back().lost_before, 0U);
}

TEST(SyslogSource, joins_the_off_bus_message_of_three_rows) {
  const FixedClock clock;
  Ring ring{
      "<3>[1.000000] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
      "<3>[1.000000] NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
      "<3>[1.000000] NVRM: fallen off the bus and is not responding to commands.\n"
      "<6>[2.000000] other\n"};
  const auto batch = ring.source(clock)->next(0s);
  ASSERT_EQ(batch->size(), 2U);
  EXPECT_EQ(batch->front().record.text,
            "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\n"
            "NVRM: fallen off the bus and is not responding to commands.");
}

TEST(SyslogSource, says_why_it_cannot_look) {
  const FixedClock clock;
  const auto denied = SyslogSource::with_read(
      []() -> Result<std::string> { return fail(Errc::denied, "syslog(2): needs CAP_SYSLOG"); }, clock);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Errc::denied);
  const auto timeless =
      SyslogSource::with_read([]() -> Result<std::string> { return std::string("<6>text\n"); }, clock);
  ASSERT_FALSE(timeless);
  EXPECT_EQ(timeless.error().code, Errc::unsupported);
}

TEST(SyslogSource, reads_the_real_kernel_log) {
  const SystemClock clock;
  const auto source = SyslogSource::open(clock);
  if (!source) GTEST_SKIP() << "syslog(2) cannot be used here: " << source.error().what;
  const auto batch = (*source)->next(0s);
  ASSERT_TRUE(batch);
  EXPECT_FALSE(batch->empty());
}

}  // namespace
}  // namespace autopilot::host
