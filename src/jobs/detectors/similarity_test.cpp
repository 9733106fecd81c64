// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/similarity.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "jobs/records.hpp"

namespace autopilot::jobs {
namespace {

constexpr std::size_t kCourseWindows = 8;

// Power of GPUs that share a rhythm.
std::vector<float> courses_of(std::size_t members, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 6);
  std::vector<float> values;
  for (std::size_t member = 0; member < members; ++member)
    for (std::size_t at = 0; at < kCourseWindows; ++at)
      values.push_back((at % 4 == 0 ? 560.0F : 620.0F) + noise(random));
  return values;
}

std::optional<Dissimilar> dissimilar_in(const std::vector<float>& values) {
  SimilarityScratch scratch;
  return find_dissimilar(values, kCourseWindows, *similarity_rule(Metric::gpu_power_w), scratch);
}

void shift_course(std::vector<float>& values, std::size_t member, float by) {
  for (std::size_t at = 0; at < kCourseWindows; ++at)
    values[member * kCourseWindows + at] += by;
}

TEST(Similarity, members_of_a_healthy_group_are_similar) {
  for (unsigned seed = 0; seed < 50; ++seed)
    EXPECT_FALSE(dissimilar_in(courses_of(16, seed))) << seed;
}

TEST(Similarity, a_member_on_another_level_is_found_with_its_direction) {
  std::vector<float> values = courses_of(16);
  shift_course(values, 11, -250);
  const std::optional<Dissimilar> found = dissimilar_in(values);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->member, 11U);
  EXPECT_GT(found->score, 6);
  EXPECT_LT(found->offset, 0);
}

TEST(Similarity, a_second_faulty_member_does_not_hide_the_first) {
  std::vector<float> values = courses_of(16);
  shift_course(values, 3, -250);
  shift_course(values, 11, -200);
  ASSERT_TRUE(dissimilar_in(values));
  EXPECT_EQ(dissimilar_in(values)->member, 3U);
}

TEST(Similarity, a_rhythm_that_is_one_window_late_is_similar) {
  std::vector<float> values = courses_of(16);
  for (std::size_t at = 0; at < kCourseWindows; ++at)
    values[5 * kCourseWindows + at] = at % 4 == 1 ? 560 : 620;
  EXPECT_FALSE(dissimilar_in(values));
}

TEST(Similarity, unknown_values_are_never_dissimilar) {
  EXPECT_FALSE(dissimilar_in(std::vector<float>(16 * kCourseWindows, kMissing)));
  EXPECT_FALSE(
      dissimilar_in(std::vector<float>(16 * kCourseWindows, std::numeric_limits<float>::infinity())));
  std::vector<float> values = courses_of(16);
  shift_course(values, 4, -250);
  for (std::size_t at = 0; at < 5; ++at)
    values[4 * kCourseWindows + at] = kMissing;
  EXPECT_FALSE(dissimilar_in(values));
  for (std::size_t at = 0; at < 4; ++at)
    values[4 * kCourseWindows + at] = 340;
  EXPECT_TRUE(dissimilar_in(values));
}

TEST(Similarity, constant_values_and_small_groups_are_similar) {
  EXPECT_FALSE(dissimilar_in(std::vector<float>(16 * kCourseWindows, 600)));
  EXPECT_FALSE(dissimilar_in({}));
  std::vector<float> values = courses_of(3);
  shift_course(values, 0, -300);
  EXPECT_FALSE(dissimilar_in(values));
}

TEST(Similarity, sizes_that_do_not_fit_are_refused) {
  SimilarityScratch scratch;
  const std::vector<float> values(33, 1);
  EXPECT_FALSE(find_dissimilar(values, 8, {}, scratch));
  EXPECT_FALSE(find_dissimilar(values, 0, {}, scratch));
  EXPECT_FALSE(find_dissimilar(std::vector<float>(4000, 1), 1000, {}, scratch));
}

TEST(Similarity, a_member_of_a_large_group_is_found) {
  for (const std::size_t members : {1024U, 1025U, 3000U}) {
    std::vector<float> values = courses_of(members);
    shift_course(values, 700, -250);
    const std::optional<Dissimilar> found = dissimilar_in(values);
    ASSERT_TRUE(found) << members;
    EXPECT_EQ(found->member, 700U);
  }
}

TEST(Similarity, a_metric_with_a_nominal_value_has_no_rule) {
  EXPECT_FALSE(similarity_rule(Metric::gpu_pcie_width));
  EXPECT_TRUE(similarity_rule(Metric::nic_tx_bytes_s));
}

TEST(CandidateHistory, the_same_candidate_for_four_minutes_is_persistent) {
  CandidateHistory history;
  for (int minute = 0; minute < 3; ++minute)
    EXPECT_FALSE(history.add(7));
  EXPECT_TRUE(history.add(7));
  EXPECT_TRUE(history.add(7));
  EXPECT_FALSE(history.add(8));
  EXPECT_FALSE(history.add(std::nullopt));
  EXPECT_FALSE(history.add(7));
  EXPECT_TRUE(history.add(7, 1));
}

}  // namespace
}  // namespace autopilot::jobs
