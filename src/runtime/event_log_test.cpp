// SPDX-License-Identifier: Apache-2.0
#include "runtime/event_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint64_t> ids(const std::vector<Event>& events) {
  std::vector<std::uint64_t> found;
  for (const Event& event : events)
    found.push_back(event.id);
  return found;
}

TEST(EventLog, an_event_is_shown_when_it_is_durable) {
  EventLog log;
  log.restore(41, {});
  const MonoTime now{1s};
  EXPECT_EQ(log.add({}, now).id, 42U);
  log.add({}, now);
  EXPECT_THAT(log.after(0), IsEmpty());
  log.durable_up_to(42);
  EXPECT_THAT(ids(log.after(0)), ElementsAre(42U));
  EXPECT_TRUE(log.after(0).front().durable);
}

TEST(EventLog, an_event_of_a_batch_that_was_dropped_is_never_shown_as_durable) {
  EventLog log;
  log.add({}, MonoTime{1s});
  log.add({}, MonoTime{1s});
  log.lost_up_to(1);
  log.durable_up_to(2);
  ASSERT_EQ(log.after(0).size(), 2U);
  EXPECT_FALSE(log.after(0)[0].durable);
  EXPECT_TRUE(log.after(0)[1].durable);
}

TEST(EventLog, an_event_that_waits_too_long_is_shown_as_not_durable) {
  EventLog log;
  const MonoTime now{1s};
  log.add({}, now);
  EXPECT_EQ(log.show_overdue(now + 249ms), now + 250ms);
  EXPECT_THAT(log.after(0), IsEmpty());
  EXPECT_EQ(log.show_overdue(now + 250ms), std::nullopt);
  ASSERT_EQ(log.after(0).size(), 1U);
  EXPECT_FALSE(log.after(0).front().durable);
  log.durable_up_to(1);
  EXPECT_EQ(log.after(0).size(), 1U);
}

TEST(EventLog, a_reader_continues_after_the_last_id_it_saw) {
  EventLog log;
  Event old;
  old.id = 7;
  log.restore(7, {old});
  log.add({}, MonoTime{1s});
  log.show_all();
  EXPECT_THAT(ids(log.after(0)), ElementsAre(7U, 8U));
  EXPECT_THAT(ids(log.after(7)), ElementsAre(8U));
}

TEST(EventLog, the_listener_hears_each_event_once_and_in_order) {
  EventLog log;
  std::vector<std::uint64_t> heard;
  log.set_listener([&heard](const std::vector<Event>& events) {
    for (const Event& event : events)
      heard.push_back(event.id);
  });
  for (int i = 0; i < 4; ++i)
    log.add({}, MonoTime{1s});
  log.durable_up_to(2);
  (void)log.show_overdue(MonoTime{2s});
  log.durable_up_to(4);
  EXPECT_THAT(heard, ElementsAre(1U, 2U, 3U, 4U));
}

TEST(EventLog, keeps_a_bounded_number) {
  EventLog log;
  for (std::size_t i = 0; i < EventLog::kKept + 10; ++i)
    log.add({}, MonoTime{1s});
  log.show_all();
  EXPECT_EQ(log.after(0).size(), EventLog::kKept);
  EXPECT_EQ(log.oldest_kept(), 11U);
}

}  // namespace
}  // namespace autopilot::runtime
