// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/ping_helper.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "host/files/fd.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::nettest {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// More than are asked at a time: the last hundred are of a part of their own.
EchoPlan a_large_plan() {
  EchoPlan plan;
  for (std::size_t i = 0; i < EchoPlan::kMostAddresses + 100; ++i)
    plan.addresses.push_back("10.1." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250));
  return plan;
}

PingHelper helper_that_dies_of(const std::string& address) {
  return PingHelper({.program = paths::fake("fake_helper"),
                     .arguments = {"ping_that_dies_of", address},
                     .environment = host::own_environment()});
}

auto count_asked(const std::vector<PeerEcho>& echoes) {
  return std::ranges::count_if(echoes, [](const PeerEcho& echo) { return echo.figures.answered > 0; });
}

TEST(PingHelper, asks_more_addresses_than_fit_into_one_question) {
  const EchoPlan plan = a_large_plan();
  const auto echoes = helper_that_dies_of("").ask(plan, host::mono_now() + 60s);
  ASSERT_TRUE(echoes) << echoes.error().what;
  EXPECT_TRUE(std::ranges::equal(*echoes, plan.addresses, {}, &PeerEcho::address));
  EXPECT_EQ(count_asked(*echoes), static_cast<std::ptrdiff_t>(plan.addresses.size()));
}

TEST(PingHelper, what_is_known_stays_where_a_later_part_fails) {
  const EchoPlan plan = a_large_plan();
  const auto echoes = helper_that_dies_of(plan.addresses.back()).ask(plan, host::mono_now() + 60s);
  ASSERT_TRUE(echoes) << echoes.error().what;
  ASSERT_TRUE(std::ranges::equal(*echoes, plan.addresses, {}, &PeerEcho::address));
  EXPECT_EQ(count_asked(*echoes), static_cast<std::ptrdiff_t>(EchoPlan::kMostAddresses));
  EXPECT_EQ(echoes->back().way, EchoWay::none);
  EXPECT_EQ(echoes->back().figures.sent, 0U);
  EXPECT_THAT(echoes->back().problem, HasSubstr("helper"));
}

TEST(PingHelper, and_where_an_earlier_one_does) {
  const EchoPlan plan = a_large_plan();
  const auto echoes = helper_that_dies_of(plan.addresses.front()).ask(plan, host::mono_now() + 60s);
  ASSERT_TRUE(echoes) << echoes.error().what;
  EXPECT_EQ(count_asked(*echoes), 100);
  EXPECT_EQ(echoes->front().way, EchoWay::none);
}

TEST(PingHelper, that_fails_altogether_is_an_error) {
  const auto echoes =
      helper_that_dies_of("10.1.0.7").ask({.addresses = {"10.1.0.7"}}, host::mono_now() + 60s);
  ASSERT_FALSE(echoes);
  EXPECT_THAT(echoes.error().what, HasSubstr("helper"));
}

}  // namespace
}  // namespace autopilot::nettest
