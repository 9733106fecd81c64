// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const WallTime kEventsNow{1'800'000'000s};

kube::RecordedEvent event(const std::string& node, std::optional<WallTime> last) {
  return {.kind = "Node",
          .name = node,
          .component = "autopilot-agent",
          .type = "Warning",
          .reason = "Xid",
          .message = "m",
          .count = 1,
          .first = last,
          .last = last};
}

TEST(EventTable, is_of_what_autopilot_told_of_nodes) {
  auto one = event("a", kEventsNow);
  EXPECT_TRUE(is_own_event(one, ""));
  EXPECT_TRUE(is_own_event(one, "a"));
  EXPECT_FALSE(is_own_event(one, "b"));
  one.kind = "Pod";
  EXPECT_FALSE(is_own_event(one, ""));
  for (const char* other : {"kubelet", "autopilotx", ""}) {
    one = event("a", kEventsNow);
    one.component = other;
    EXPECT_FALSE(is_own_event(one, "")) << other;
  }
}

TEST(EventTable, has_the_newest_last) {
  std::vector events{event("c", kEventsNow - 1s), event("a", std::nullopt), event("b", kEventsNow - 1h)};
  events[0].count = 12;
  events[0].first = kEventsNow - 3min;
  sort_newest_last(events);
  EXPECT_EQ(render_events(events, kEventsNow, {}),
            "LAST SEEN       TYPE     NODE  REASON  MESSAGE\n"
            "?               Warning  a     Xid     m\n"
            "1h              Warning  b     Xid     m\n"
            "1s (x12 in 2m)  Warning  c     Xid     m\n");
  EXPECT_THAT(events_json(events),
              HasSubstr(R"("count":12,"type":"Warning","node":"c","reason":"Xid","message":"m")"));
}

}  // namespace

}  // namespace autopilot::cli
