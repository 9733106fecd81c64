// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/retention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kNow{1'800'000'000s};

Kept kept(const std::string& name, Duration age, bool has_ended = true) {
  Kept object{.path = name, .meta = {}, .changed = kNow - age, .has_ended = has_ended};
  object.meta.uid = "u";
  object.meta.version = "7";
  return object;
}
std::vector<std::string> gone(std::vector<Kept> objects, const RetentionLimits& limits = {}) {
  std::vector<std::string> paths;
  for (const Write& write : too_old(std::move(objects), limits, kNow))
    paths.push_back(write.path);
  return paths;
}

TEST(Retention, what_has_ended_stays_for_a_month) {
  EXPECT_THAT(gone({kept("a", 31 * 24h), kept("b", 29 * 24h), kept("open", 365 * 24h, false)}),
              ElementsAre("a"));
}

TEST(Retention, the_oldest_go_first_when_there_are_too_many_and_open_ones_never) {
  const std::vector<Kept> five{kept("new", 1h), kept("old", 3h), kept("open", 9h, false), kept("mid", 2h),
                               kept("older", 4h)};
  EXPECT_THAT(gone(five, {.most = 3}), ElementsAre("older", "old"));
  EXPECT_THAT(gone(five, {.most = 5}), IsEmpty());
  EXPECT_EQ(gone(five, {.most = 0}).size(), 4U);
}

TEST(Retention, deletes_only_what_it_has_seen) {
  const Write write = too_old({kept("a", 31 * 24h)}, {}, kNow).at(0);
  EXPECT_EQ(write.method, Write::Method::remove);
  EXPECT_EQ(write.body, R"({"preconditions":{"uid":"u","resourceVersion":"7"}})");
}

}  // namespace
}  // namespace autopilot::controller
