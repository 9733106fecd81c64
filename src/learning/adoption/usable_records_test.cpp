// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/usable_records.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace autopilot::learning {
namespace {

constexpr WallTime kReadAt{std::chrono::days(200)};

Measurement usable(const std::string& id, const std::string& node, const std::string& gpu, int day,
                   const std::string& cluster = "") {
  return {.id = id,
          .place = {cluster, node, gpu},
          .time = WallTime(std::chrono::days(day)),
          .kind = "gpu=H100",
          .check = "c",
          .metric = "m",
          .values = {1}};
}

TEST(UsableMeasurements, of_a_clock_that_is_ahead_are_left_out) {
  const auto result =
      usable_measurements({{"a", {usable("1", "n", "g", 199), usable("2", "n", "g", 201)}}}, kReadAt);
  EXPECT_EQ(result.measurements.size(), 1U);
  EXPECT_EQ(result.newest, WallTime(std::chrono::days(199)));
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_NE(result.notes[0].find("clock of their node was wrong: n"), std::string::npos);
}

TEST(UsableMeasurements, of_one_name_in_two_clusters_are_left_out_without_the_cluster) {
  const std::vector<MeasurementFile> files{{"a", {usable("1", "n", "g1", 1), usable("2", "m", "g2", 1)}},
                                           {"b", {usable("3", "n", "g3", 1)}}};
  const auto result = usable_measurements(files, kReadAt);
  ASSERT_EQ(result.measurements.size(), 1U);
  EXPECT_EQ(result.measurements[0].place.node, "m");
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_NE(result.notes[0].find("Two clusters have the same names"), std::string::npos);
}

TEST(UsableMeasurements, of_one_node_in_two_histories_count_once) {
  const auto result = usable_measurements({{"a", {usable("1", "n", "g1", 1), usable("2", "n", "g1", 2)}},
                                           {"b", {usable("2", "n", "g1", 2), usable("3", "n", "g1", 3)}}},
                                          kReadAt);
  EXPECT_EQ(result.measurements.size(), 3U);
  EXPECT_TRUE(result.notes.empty());
}

TEST(UsableMeasurements, of_named_clusters_stay_apart) {
  const auto result = usable_measurements(
      {{"a", {usable("1", "n", "g1", 1, "x")}}, {"b", {usable("2", "n", "g2", 1, "y")}}}, kReadAt);
  EXPECT_EQ(result.measurements.size(), 2U);
  EXPECT_TRUE(result.notes.empty());
}

TEST(UsableMeasurements, of_a_card_that_moved_are_those_on_its_last_node) {
  const auto result = usable_measurements(
      {{"a", {usable("1", "old", "g", 1), usable("2", "new", "g", 2), usable("3", "old", "h", 3)}}}, kReadAt);
  ASSERT_EQ(result.measurements.size(), 2U);
  EXPECT_EQ(result.measurements[0].id, "2");
  EXPECT_EQ(result.measurements[1].id, "3");
  EXPECT_NE(result.notes.at(0).find("1 cards were measured on more than one node"), std::string::npos);
}

TEST(UsableMeasurements, do_not_depend_on_the_order) {
  std::vector<Measurement> all;
  for (int i = 0; i < 60; ++i)
    all.push_back(usable(std::to_string(i / 2), "n" + std::to_string(i % 7), "g" + std::to_string(i % 5), i));
  const auto ids_of = [](const UsableMeasurements& usable_ones) {
    std::vector<std::string> ids;
    for (const Measurement& one : usable_ones.measurements)
      ids.push_back(one.id + one.place.node);
    return ids;
  };
  const auto first = ids_of(usable_measurements({{"a", all}}, kReadAt));
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 engine(seed);
    std::ranges::shuffle(all, engine);
    EXPECT_EQ(ids_of(usable_measurements({{"a", all}}, kReadAt)), first) << seed;
  }
}

TEST(UsableMeasurements, of_nothing_are_nothing) {
  const auto result = usable_measurements({}, kReadAt);
  EXPECT_TRUE(result.measurements.empty());
  EXPECT_EQ(result.newest, WallTime{});
}

}  // namespace
}  // namespace autopilot::learning
