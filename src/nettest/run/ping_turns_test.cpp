// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/ping_turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace autopilot::nettest {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr Duration kLength = 1min;
constexpr std::uint64_t kFirst = 29'000'000;
constexpr WallTime kBegin{kLength * kFirst};

// A node that makes rounds on a clock that the test moves, with the worst jitter in turn.
class TurningNode {
 public:
  explicit TurningNode(double place) : turns_(place) {}

  // Waits for the next round and makes it; the timer waits as long whatever becomes of the clock meanwhile.
  void make_round(Duration takes = 100ms, Duration step = 0s) {
    do {
      now += turns_.until_next(now, kLength, jitter_) + std::exchange(step, 0s);
    } while (!turns_.is_open(now, kLength));
    numbers.push_back(PingTurns::number_at(now, kLength));
    begins.push_back(now);
    turns_.note_round(now, kLength);
    now += takes;
    jitter_ = jitter_ == 0 ? 0.999 : 0;
  }

  WallTime now = kBegin + 7s;
  std::vector<std::uint64_t> numbers;
  std::vector<WallTime> begins;

 private:
  PingTurns turns_;
  double jitter_ = 0;
};

void expect_consecutive(const std::vector<std::uint64_t>& numbers) {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    EXPECT_EQ(numbers[i], numbers[i - 1] + 1) << "round " << i;
}

TEST(PingTurns, each_turn_has_one_round_wherever_in_it_a_node_begins) {
  for (const double place : {0.0, 0.3, 0.999}) {
    TurningNode node(place);
    for (int round = 0; round < 1000; ++round)
      node.make_round();
    expect_consecutive(node.numbers);
    for (std::size_t i = 1; i < node.begins.size(); ++i)
      EXPECT_GE(node.begins[i] - node.begins[i - 1], i == 1 ? 1s : 53s);
  }
}

TEST(PingTurns, rounds_that_are_slow_leave_none_out) {
  for (const double place : {0.0, 0.5, 0.999}) {
    TurningNode node(place);
    for (int round = 0; round < 1000; ++round)
      node.make_round(round % 3 == 0 ? 50s : 20s);
    expect_consecutive(node.numbers);
  }
}

TEST(PingTurns, a_round_that_is_longer_than_its_turn_passes_over_those_that_it_took) {
  TurningNode node(0.5);
  node.make_round(3min);
  node.make_round();
  node.make_round();
  EXPECT_THAT(node.numbers, ElementsAre(kFirst, kFirst + 3, kFirst + 4));
}

TEST(PingTurns, nodes_begin_at_places_of_their_own) {
  TurningNode early(0);
  TurningNode late(0.999);
  early.make_round();
  early.make_round();
  late.make_round();
  late.make_round();
  EXPECT_EQ(early.numbers.back(), late.numbers.back());
  EXPECT_GT(late.begins.back() - early.begins.back(), 30s);
}

TEST(PingTurns, a_clock_that_is_set_forward_leaves_out_what_never_was) {
  TurningNode node(0.5);
  node.make_round();
  node.make_round(100ms, 3min);
  node.make_round();
  EXPECT_THAT(node.numbers, ElementsAre(kFirst, kFirst + 4, kFirst + 5));
}

TEST(PingTurns, a_clock_that_is_set_a_little_repeats_nothing) {
  for (const Duration step : std::vector<Duration>{-1ms, -20s, -45s, 20s}) {
    TurningNode node(0.5);
    for (int round = 0; round < 3; ++round)
      node.make_round();
    node.now += step;
    for (int round = 0; round < 3; ++round)
      node.make_round();
    expect_consecutive(node.numbers);
  }
}

TEST(PingTurns, a_clock_that_is_set_back_by_an_hour_is_followed) {
  TurningNode node(0.5);
  node.make_round();
  node.now -= 1h;
  node.make_round();
  node.make_round();
  EXPECT_THAT(node.numbers, ElementsAre(kFirst, kFirst - 60, kFirst - 59));
}

TEST(PingTurns, turns_of_another_length_begin_at_once) {
  PingTurns turns(0);
  turns.note_round(kBegin + 1s, 1h);
  EXPECT_FALSE(turns.is_open(kBegin + 1s, 1h));
  EXPECT_TRUE(turns.is_open(kBegin + 2s, 10s));
  EXPECT_LE(turns.until_next(kBegin + 2s, 10s, 0), 10s);
}

TEST(PingTurns, numbers_go_on_through_1970) {
  EXPECT_EQ(PingTurns::number_at(WallTime{-1s}, kLength) + 1, PingTurns::number_at(WallTime{1s}, kLength));
}

}  // namespace
}  // namespace autopilot::nettest
