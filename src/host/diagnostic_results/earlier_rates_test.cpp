// SPDX-License-Identifier: Apache-2.0
#include "host/diagnostic_results/earlier_rates.hpp"

#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

Observation measured(double rate, const std::string& card = "GPU-1",
                     const std::string& unit = "gigabytes_per_second") {
  Observation one;
  one.name = "memory_bandwidth.copy";
  one.subject = {SubjectKind::gpu, "0000:1b:00.0", 0, card, ""};
  one.value = rate;
  one.unit = unit;
  return one;
}

class EarlierRatesTest : public ::testing::Test {
 protected:
  void add(std::initializer_list<double> rates) {
    for (const double rate : rates)
      earlier_.add(test_, measured(rate));
  }
  [[nodiscard]] std::optional<double> usual(const Observation& now = measured(100)) const {
    return earlier_.usual(test_, now);
  }
  const std::string test_ = "gpu.memory_bandwidth";
  EarlierRates earlier_;
};

TEST_F(EarlierRatesTest, three_tests_make_what_is_usual) {
  add({1000, 1010});
  EXPECT_EQ(usual(), std::nullopt);
  add({990});
  EXPECT_EQ(usual(), 1000);
}

TEST_F(EarlierRatesTest, neither_a_decline_nor_one_lucky_test_becomes_usual) {
  add({1000, 1400, 1005, 995, 990});
  for (int rate = 980; rate > 600; rate -= 20)
    add({static_cast<double>(rate)});
  EXPECT_EQ(usual(), 1000);
}

TEST_F(EarlierRatesTest, what_was_long_ago_is_not_usual_any_more) {
  add({1000, 1000, 1000, 1000, 1000});
  for (std::size_t test = 0; test < EarlierRates::kKept; ++test)
    add({800});
  EXPECT_EQ(usual(), 800);
}

TEST_F(EarlierRatesTest, a_card_is_known_by_its_uuid_and_by_nothing_else) {
  add({1000, 1000, 1000});
  Observation moved = measured(100);
  moved.subject.key = "0000:43:00.0";
  EXPECT_EQ(usual(moved), 1000);
  EXPECT_EQ(usual(measured(100, "GPU-2")), std::nullopt) << "another card in its slot";
  EXPECT_EQ(usual(measured(100, "")), std::nullopt);
  EXPECT_EQ(earlier_.usual("gpu.compute", measured(100)), std::nullopt) << "another test";
}

TEST_F(EarlierRatesTest, what_the_host_has_depends_on_who_takes_part) {
  Observation together = measured(180, "");
  together.subject = host_subject();
  for (int test = 0; test < 3; ++test)
    earlier_.add(test_, together, "GPU-1 GPU-2 ");
  EXPECT_EQ(earlier_.usual(test_, together, "GPU-1 GPU-2 "), 180);
  EXPECT_EQ(earlier_.usual(test_, together, "GPU-1 GPU-2 GPU-3 "), std::nullopt);
  EXPECT_EQ(usual(together), std::nullopt);
}

TEST_F(EarlierRatesTest, what_is_no_rate_has_no_usual_value) {
  for (int test = 0; test < 3; ++test)
    earlier_.add(test_, measured(80, "GPU-1", "celsius"));
  EXPECT_EQ(usual(measured(80, "GPU-1", "celsius")), std::nullopt);
  Observation unread = measured(0);
  unread.value.reset();
  add({1000, 1000, 1000});
  EXPECT_EQ(usual(unread), std::nullopt);
}

TEST_F(EarlierRatesTest, with_more_cards_than_a_machine_has_all_begins_anew) {
  for (std::size_t card = 0; card <= EarlierRates::kMost; ++card)
    for (int test = 0; test < 3; ++test)
      earlier_.add(test_, measured(1000, "GPU-" + std::to_string(card)));
  EXPECT_EQ(usual(measured(1, "GPU-0")), std::nullopt);
  EXPECT_EQ(usual(measured(1, "GPU-" + std::to_string(EarlierRates::kMost))), 1000);
}

}  // namespace
}  // namespace autopilot::host
