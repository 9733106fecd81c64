// SPDX-License-Identifier: Apache-2.0
#include "runtime/roll_ups.hpp"

#include <gtest/gtest.h>

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;

Observation reading(double value, WallTime at) {
  Observation observation;
  observation.name = "temperature";
  observation.subject = {SubjectKind::gpu, "0000:3b:00.0", 0, "", ""};
  observation.value = value;
  observation.time.wall = at;
  return observation;
}

TEST(RollUps, keep_the_open_hour_and_give_the_finished_one) {
  RollUps roll_ups;
  const WallTime hour{100h};
  roll_ups.add("gpu.temperature", {reading(40, hour + 1min)});
  roll_ups.add("gpu.temperature", {reading(60, hour + 2min)});
  roll_ups.add("gpu.temperature", {reading(90, hour + 1h)});
  const auto finished = roll_ups.take_finished(hour + 1h + 1min);
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].min, 40);
  EXPECT_EQ(finished[0].max, 60);
  EXPECT_EQ(finished[0].sum, 100);
  EXPECT_EQ(finished[0].count, 2U);
  EXPECT_EQ(finished[0].hour, hour);
  EXPECT_EQ(roll_ups.take_all().size(), 1U);
  EXPECT_TRUE(roll_ups.take_all().empty());
}

TEST(RollUps, name_the_card_and_not_only_its_slot) {
  RollUps roll_ups;
  Observation of_card = reading(40, WallTime{1h});
  of_card.subject.uuid = "GPU-8e1fa1b0";
  of_card.subject.serial = "1650";
  Observation without = reading(50, WallTime{1h + 1min});
  roll_ups.add("gpu.temperature", {of_card});
  roll_ups.add("gpu.clocks", {without});
  for (const store::RollUp& roll_up : roll_ups.take_all()) {
    EXPECT_EQ(roll_up.subject.uuid, "GPU-8e1fa1b0") << roll_up.check;
    EXPECT_EQ(roll_up.subject.serial, "1650") << roll_up.check;
  }
}

TEST(RollUps, words_and_missing_values_do_not_count) {
  RollUps roll_ups;
  Observation word = reading(0, WallTime{1h});
  word.value = std::string("up");
  Observation missing = reading(0, WallTime{1h});
  missing.value.reset();
  roll_ups.add("gpu.temperature", {word, missing});
  EXPECT_TRUE(roll_ups.take_all().empty());
}

}  // namespace
}  // namespace autopilot::runtime
