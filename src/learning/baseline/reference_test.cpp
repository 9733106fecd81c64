// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/reference.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/learning/test_fleets.hpp"

namespace autopilot::learning {
namespace {

using test_fleets::make_fleet;

const Reference& published(const Result<ReferenceAnswer>& answer) {
  static const Reference kMissing{Distribution::of({1}).value()};
  EXPECT_TRUE(answer && std::holds_alternative<Reference>(*answer));
  const auto* reference = answer ? std::get_if<Reference>(&*answer) : nullptr;
  return reference == nullptr ? kMissing : *reference;
}

TEST(References, a_healthy_fleet_passes_its_own_baseline) {
  const auto fleet = make_fleet({{400}});
  const auto answer = fit_reference(fleet, Worse::lower);
  const Reference& reference = published(answer);
  EXPECT_NEAR(reference.centre.median(), 100, 0.3);
  EXPECT_GE(reference.within, 396U);
  EXPECT_NEAR(reference.repeat_cv, 0.005, 0.001);
  EXPECT_GT(reference.limit, 0.02);
  EXPECT_LT(reference.limit, 0.05);
}

TEST(References, faulty_nodes_do_not_pull_the_baseline) {
  for (const double level : {95.0, 90.0, 70.0}) {
    const auto answer = fit_reference(make_fleet({{280, 100}, {120, level}}), Worse::lower);
    const Reference& reference = published(answer);
    EXPECT_NEAR(reference.centre.median(), 100, 0.8) << level;
    EXPECT_LE(reference.within, 300U) << level;
  }
}

TEST(References, of_a_duration_longer_is_worse) {
  const auto answer = fit_reference(make_fleet({{280, 100}, {120, 115}}), Worse::higher);
  EXPECT_NEAR(published(answer).centre.median(), 100, 0.5);
  EXPECT_EQ(published(answer).within, 280U);
}

TEST(References, two_groups_are_reported_and_not_averaged) {
  const auto answer = fit_reference(make_fleet({{200, 100}, {200, 90}}), Worse::lower);
  ASSERT_TRUE(answer && std::holds_alternative<Bimodal>(*answer));
  const Bimodal& found = std::get<Bimodal>(*answer);
  EXPECT_EQ(found.first_nodes + found.second_nodes, 400U);
  EXPECT_NEAR(static_cast<double>(found.first_nodes), 200, 5);
  EXPECT_NEAR(std::max(found.first_median, found.second_median), 100, 2);
  EXPECT_NEAR(std::min(found.first_median, found.second_median), 90, 2);
  EXPECT_NE(found.sentence().find(found.first_medoid), std::string::npos);
}

TEST(References, with_forty_percent_faulty_nodes_the_baseline_is_refused_or_that_of_the_healthy) {
  for (const double level : {95.0, 90.0, 80.0, 70.0})
    for (unsigned seed = 1; seed <= 5; ++seed) {
      const auto answer = fit_reference(make_fleet({{240, 100}, {160, level}}, seed), Worse::lower);
      ASSERT_TRUE(answer);
      const auto* reference = std::get_if<Reference>(&*answer);
      if (reference != nullptr) {
        EXPECT_GT(reference->centre.median(), (100 + level) / 2);
      }
    }
}

TEST(References, firmware_that_slows_half_of_the_fleet_fails_at_most_one_percent) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const auto answer = fit_reference(make_fleet({{200, 100}, {200, 96}}, seed), Worse::lower);
    ASSERT_TRUE(answer);
    const auto* reference = std::get_if<Reference>(&*answer);
    if (reference != nullptr) {
      EXPECT_GE(reference->within, 396U);
    }
  }
}

TEST(References, the_order_of_the_nodes_has_no_influence) {
  auto fleet = make_fleet({{250, 100}, {50, 92}});
  const auto first = fit_reference(fleet, Worse::lower);
  std::ranges::reverse(fleet);
  std::ranges::rotate(fleet, fleet.begin() + 77);
  const auto second = fit_reference(fleet, Worse::lower);
  EXPECT_EQ(published(first).limit, published(second).limit);
  EXPECT_EQ(published(first).within, published(second).within);
  EXPECT_EQ(published(first).centre.quantile(0.37), published(second).centre.quantile(0.37));
}

TEST(References, few_nodes_have_the_default_threshold) {
  EXPECT_EQ(published(fit_reference(make_fleet({{199}}), Worse::lower)).limit, 0.05);
  EXPECT_NE(published(fit_reference(make_fleet({{200}}), Worse::lower)).limit, 0.05);
}

TEST(References, too_few_nodes_and_a_node_twice_are_refused) {
  EXPECT_EQ(fit_reference(make_fleet({{19}}), Worse::lower).error().code, Errc::malformed);
  auto fleet = make_fleet({{30}});
  fleet[3].place = fleet[4].place;
  EXPECT_EQ(fit_reference(fleet, Worse::lower).error().code, Errc::malformed);
}

TEST(References, equal_values_have_the_least_threshold) {
  std::vector<NodeResults> fleet;
  for (int i = 0; i < 300; ++i)
    fleet.push_back({std::to_string(i), Distribution::of({50, 50, 50}).value()});
  const auto answer = fit_reference(fleet, Worse::lower);
  EXPECT_EQ(published(answer).limit, 0.02);
  EXPECT_EQ(published(answer).within, 300U);
}

}  // namespace
}  // namespace autopilot::learning
