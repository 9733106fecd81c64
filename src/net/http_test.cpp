// SPDX-License-Identifier: Apache-2.0

#include "net/http.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::net {

namespace {

std::vector<ServerEvent> parse(const std::vector<std::string>& chunks) {
  std::vector<ServerEvent> events;
  EventParser parser(1000);
  for (const auto& chunk : chunks) {
    const auto result = parser.feed(chunk, [&](const ServerEvent& event) {
      events.push_back(event);
      return true;
    });
    EXPECT_TRUE(result && *result);
  }
  return events;
}

TEST(ServerSentEvents, come_back_as_they_were_written) {
  const ServerEvent event{"12", "finding_raised", "{\"a\":1}\nsecond line"};
  const auto text = format_event(event);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto events = parse({text.substr(0, cut), text.substr(cut)});
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].id, event.id);
    EXPECT_EQ(events[0].event, event.event);
    EXPECT_EQ(events[0].data, event.data);
  }
}

TEST(ServerSentEvents, no_field_can_begin_another) {
  const auto events = parse({format_event({"1\nid: 2", "a\r\ndata: b", "x\rdata: y"})});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].id, "1 id: 2");
  EXPECT_EQ(events[0].event, "a  data: b");
  EXPECT_EQ(events[0].data, "x\ndata: y");
}

TEST(ServerSentEvents, accept_every_line_end_comments_and_unknown_fields) {
  const auto events =
      parse({":comment\r", "\nretry: 5\rid:7\rdata\r\r", "data: b\r\n\r\n", "data: unfinished\n"});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].id, "7");
  EXPECT_EQ(events[0].data, "");
  EXPECT_EQ(events[1].id, "7");
  EXPECT_EQ(events[1].data, "b");
}

TEST(ServerSentEvents, refuse_an_event_beyond_the_limit) {
  EventParser parser(1000);
  const auto ignore = [](const ServerEvent&) { return true; };
  ASSERT_TRUE(parser.feed("data: " + std::string(600, 'x') + "\n", ignore));
  const auto result = parser.feed("data: " + std::string(600, 'x') + "\n", ignore);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::exhausted);
}

}  // namespace

}  // namespace autopilot::net
