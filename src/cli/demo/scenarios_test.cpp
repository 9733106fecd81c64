// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/scenarios.hpp"

#include <gtest/gtest.h>
#include <set>

#include "checks/check.hpp"
#include "core/subject.hpp"

namespace autopilot::cli {
namespace {

TEST(DemoScenarios, have_different_names_and_existing_checks) {
  std::set<std::string_view> names;
  for (const DemoScenario& scenario : demo_scenarios()) {
    EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
    EXPECT_FALSE(scenario.explain.empty()) << scenario.name;
    EXPECT_FALSE(scenario.checks.empty()) << scenario.name;
    for (const std::string& id : scenario.checks)
      EXPECT_NE(checks::find_check(id), nullptr) << id;
    if (!scenario.subject.empty()) EXPECT_TRUE(parse_subject(scenario.subject)) << scenario.subject;
  }
  EXPECT_GE(names.size(), 6U);
}

TEST(DemoScenarios, an_unknown_name_is_answered_with_the_nearest) {
  EXPECT_TRUE(demo_scenario("nvlink"));
  const auto none = demo_scenario("nvlimk");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("did you mean nvlink?"), std::string::npos);
}

}  // namespace
}  // namespace autopilot::cli
