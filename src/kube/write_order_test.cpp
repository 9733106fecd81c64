// SPDX-License-Identifier: Apache-2.0
#include "kube/write_order.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <vector>

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;

MonoTime moment(Duration time) {
  return MonoTime{1h + time};
}

void write(WriteOrder& order, WriteKind kind, MonoTime now) {
  order.want(kind, now);
  EXPECT_TRUE(order.take(now));
}

TEST(WriteOrder, the_first_change_of_a_quiet_node_goes_at_once) {
  WriteOrder order;
  EXPECT_FALSE(order.take(moment(0s)));
  EXPECT_FALSE(order.next());
  order.want(WriteKind::conditions, moment(0s));
  order.want(WriteKind::label, moment(0s));
  EXPECT_EQ(order.next(), moment(0s));
  EXPECT_EQ(order.take(moment(0s)), WriteKind::label);
  EXPECT_EQ(order.take(moment(0s)), WriteKind::conditions);
  EXPECT_FALSE(order.take(moment(0s)));
}

TEST(WriteOrder, a_test_that_somebody_waits_for_leaves_one_of_a_minute_to_the_label) {
  WriteOrder order;
  for (const auto kind : {WriteKind::label, WriteKind::conditions, WriteKind::label})
    write(order, kind, moment(0s));
  order.want(WriteKind::pvc_test, moment(1s));
  EXPECT_FALSE(order.take(moment(1s)));
  order.want(WriteKind::pvc_test, moment(1s), WriteUrgency::awaited);
  EXPECT_EQ(order.take(moment(1s)), WriteKind::pvc_test);
  order.want(WriteKind::pvc_test, moment(2s), WriteUrgency::awaited);
  EXPECT_EQ(order.take(moment(2s)), WriteKind::pvc_test);
  order.want(WriteKind::pvc_test, moment(3s), WriteUrgency::awaited);
  EXPECT_FALSE(order.take(moment(3s)));
  write(order, WriteKind::label, moment(3s));
}

TEST(WriteOrder, what_is_wanted_twice_goes_once) {
  WriteOrder order;
  order.want(WriteKind::label, moment(0s));
  order.want(WriteKind::label, moment(1s));
  EXPECT_TRUE(order.take(moment(1s)));
  EXPECT_FALSE(order.take(moment(1s)));
}

TEST(WriteOrder, six_go_in_any_minute_and_none_starves) {
  WriteOrder order;
  std::vector<MonoTime> went;
  std::array<int, kWriteKinds> count{};
  // A node that changes all the time. In the first minute labels go first.
  for (Duration time = 0s; time < 11min; time += 100ms) {
    for (const auto kind : {WriteKind::label, WriteKind::conditions, WriteKind::report, WriteKind::event,
                            WriteKind::pvc_test, WriteKind::deep_test})
      order.want(kind, moment(time));
    while (const auto kind = order.take(moment(time))) {
      went.push_back(moment(time));
      if (time >= 1min) ++count.at(static_cast<std::size_t>(*kind));
    }
  }
  for (std::size_t i = 0; i + WriteOrder::kMaxWrites < went.size(); ++i)
    EXPECT_GE(went[i + WriteOrder::kMaxWrites] - went[i], 1min);
  EXPECT_EQ(went.size(), 66U);
  for (const int of_kind : count)
    EXPECT_GE(of_kind, 10);
}

TEST(WriteOrder, what_had_nothing_to_send_takes_no_place) {
  WriteOrder order;
  const MonoTime begin{1h};
  for (int i = 0; i < 20; ++i) {
    order.want(WriteKind::deep_test, begin);
    ASSERT_EQ(order.take(begin), WriteKind::deep_test) << i;
    order.not_sent();
  }
}

TEST(WriteOrder, says_when_the_next_may_go) {
  WriteOrder order;
  for (int i = 0; i < 6; ++i)
    write(order, WriteKind::label, moment(std::chrono::seconds{i}));
  order.want(WriteKind::label, moment(10s));
  EXPECT_FALSE(order.take(moment(10s)));
  EXPECT_EQ(order.next(), moment(60s));
  EXPECT_FALSE(order.take(moment(59s)));
  EXPECT_TRUE(order.take(moment(60s)));
}

TEST(WriteOrder, a_text_leaves_the_last_writes_of_the_minute_to_what_is_acted_on) {
  WriteOrder order;
  for (const Duration time : {0s, 1s, 2s})
    write(order, WriteKind::report, moment(time));
  order.want(WriteKind::conditions, moment(3s), WriteUrgency::text);
  EXPECT_FALSE(order.take(moment(3s)));
  EXPECT_EQ(order.next(), moment(60s));
  order.want(WriteKind::label, moment(4s));
  EXPECT_EQ(order.take(moment(4s)), WriteKind::label);
  // Two of four are left in the minute.
  EXPECT_EQ(order.next(), moment(61s));
  EXPECT_FALSE(order.take(moment(60s)));
  EXPECT_EQ(order.take(moment(61s)), WriteKind::conditions);
}

// A deep test that is taken over and ends at once, while the agent that starts learns something in each
// moment.
TEST(WriteOrder, the_last_three_of_a_minute_are_kept_for_what_schedulers_act_on) {
  WriteOrder order;
  for (const auto kind : {WriteKind::label, WriteKind::conditions, WriteKind::conditions})
    write(order, kind, moment(0s));
  order.want(WriteKind::report, moment(1s));
  order.want(WriteKind::event, moment(2s));
  EXPECT_FALSE(order.take(moment(2s)));
  for (const auto kind : {WriteKind::deep_test, WriteKind::deep_test, WriteKind::label}) {
    order.want(kind, moment(20s));
    EXPECT_EQ(order.take(moment(20s)), kind);
  }
  EXPECT_EQ(order.next(), moment(60s));
  EXPECT_EQ(order.take(moment(60s)), WriteKind::report);
  EXPECT_EQ(order.take(moment(60s)), WriteKind::event);
}

TEST(WriteOrder, what_waited_for_half_a_minute_leaves_nothing_to_labels) {
  WriteOrder order;
  for (int i = 0; i < 5; ++i)
    write(order, WriteKind::label, moment(0s));
  order.want(WriteKind::report, moment(1s));
  EXPECT_FALSE(order.take(moment(30s)));
  EXPECT_EQ(order.next(), moment(31s));
  order.want(WriteKind::label, moment(31s));
  EXPECT_EQ(order.take(moment(31s)), WriteKind::report);
}

TEST(WriteOrder, a_text_that_becomes_a_matter_of_state_waits_half_a_minute_at_most) {
  WriteOrder order;
  for (int i = 0; i < 3; ++i)
    write(order, WriteKind::report, moment(0s));
  order.want(WriteKind::conditions, moment(1s), WriteUrgency::text);
  EXPECT_EQ(order.next(), moment(60s));
  order.want(WriteKind::conditions, moment(2s));
  order.want(WriteKind::conditions, moment(3s), WriteUrgency::text);
  EXPECT_EQ(order.next(), moment(31s));
  EXPECT_EQ(order.take(moment(31s)), WriteKind::conditions);
}

TEST(WriteOrder, the_minute_begins_with_the_answer) {
  WriteOrder order;
  for (int i = 0; i < 6; ++i) {
    order.want(WriteKind::label, moment(0s));
    EXPECT_TRUE(order.take(moment(0s)));
    order.answered(moment(2s));
  }
  order.want(WriteKind::label, moment(10s));
  EXPECT_EQ(order.next(), moment(62s));
  EXPECT_FALSE(order.take(moment(61s)));
  EXPECT_TRUE(order.take(moment(62s)));
}

TEST(WriteOrder, what_failed_is_tried_again_later_and_lets_others_pass) {
  WriteOrder order;
  order.want(WriteKind::label, moment(0s));
  EXPECT_EQ(order.take(moment(0s)), WriteKind::label);
  order.failed(WriteKind::label, moment(1s), moment(30s));
  order.want(WriteKind::report, moment(2s));
  EXPECT_EQ(order.take(moment(2s)), WriteKind::report);
  EXPECT_FALSE(order.take(moment(29s)));
  EXPECT_EQ(order.next(), moment(30s));
  EXPECT_EQ(order.take(moment(30s)), WriteKind::label);
}

}  // namespace
}  // namespace autopilot::kube
