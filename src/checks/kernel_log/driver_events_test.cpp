// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/driver_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MonoTime kStart{1h};

Observation record(int code, MonoTime when, bool from_kernel = true) {
  Observation event;
  event.name = kXidEvent;
  event.subject = {SubjectKind::gpu_instance, "0000:3b:00.0/5", std::nullopt, "", ""};
  event.value = std::int64_t{code};
  event.source = "/dev/kmsg";
  event.time.mono = when;
  event.sequence = 7;
  event.attributes.emplace_back("fromKernel", from_kernel);
  return event;
}

Observation heard(std::uint32_t code, MonoTime when, Duration late = {}) {
  host::GpuEvent event;
  event.subject = {SubjectKind::gpu, "0000:3b:00.0", std::nullopt, "", ""};
  event.code = code;
  event.time.mono = when;
  event.late = late;
  return to_observation(event);
}

TEST(JoinedEvents, an_error_of_a_program_that_both_witnesses_tell_is_one) {
  const auto news = joined({record(31, kStart), heard(31, kStart + 4s)}, {});
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].source, "/dev/kmsg");
}

TEST(JoinedEvents, what_an_earlier_round_read_in_the_log_is_not_told_again) {
  EXPECT_THAT(joined({heard(31, kStart)}, {record(31, kStart - 5s)}), IsEmpty());
  EXPECT_THAT(joined({heard(31, kStart)}, {record(31, kStart - 6s)}), SizeIs(1));
}

TEST(JoinedEvents, an_event_that_was_heard_late_may_be_as_old_as_the_silence_before) {
  EXPECT_THAT(joined({heard(31, kStart, 30s)}, {record(31, kStart - 34s)}), IsEmpty());
  EXPECT_THAT(joined({heard(31, kStart, 30s)}, {record(31, kStart - 36s)}), SizeIs(1));
  EXPECT_THAT(joined({heard(31, kStart, 30s)}, {record(31, kStart + 6s)}), SizeIs(1));
}

TEST(JoinedEvents, other_errors_and_lines_of_user_space_take_nothing_away) {
  EXPECT_THAT(joined({heard(95, kStart)}, {record(31, kStart)}), SizeIs(1));
  EXPECT_THAT(joined({heard(31, kStart)}, {record(31, kStart, false)}), SizeIs(1));
}

}  // namespace
}  // namespace autopilot::checks
