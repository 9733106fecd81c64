// SPDX-License-Identifier: Apache-2.0
#include "cli/event_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Event event_at(std::uint64_t id, std::string_view time, std::string check = "gpu.xid") {
  Event event;
  event.id = id;
  event.time = *parse_time(time);
  event.kind = EventKind::finding_raised;
  event.check = std::move(check);
  event.subject.kind = SubjectKind::gpu;
  event.subject.key = "0000:3b:00.0";
  event.subject.index = 3;
  event.reason = "gpu_fallen_off_bus";
  event.health = Health::failed;
  return event;
}

bool is_admitted(const EventFilter& filter) {
  return filter.admits(event_at(1, "2026-11-30T03:00:00Z"));
}

std::vector<std::uint64_t> ids_of(const std::vector<Event>& events) {
  std::vector<std::uint64_t> ids;
  for (const Event& event : events)
    ids.push_back(event.id);
  return ids;
}

TEST(EventFilter, admits_what_each_option_names) {
  EXPECT_TRUE(is_admitted({}));
  EXPECT_TRUE(is_admitted({.checks = {"gpu.xid"}}));
  EXPECT_TRUE(is_admitted({.checks = {"host", "gpu"}}));
  EXPECT_FALSE(is_admitted({.checks = {"gpu.xi"}}));
  for (const char* subject : {"gpu", "gpu/0000:3b:00.0", "gpu/3", "0000:3b:00.0"})
    EXPECT_TRUE(is_admitted({.subjects = {subject}})) << subject;
  EXPECT_FALSE(is_admitted({.subjects = {"gpu/4"}}));
  EXPECT_FALSE(is_admitted({.subjects = {"host"}}));
  EXPECT_TRUE(is_admitted({.kinds = {"finding"}}));
  EXPECT_TRUE(is_admitted({.kinds = {"finding_raised"}}));
  EXPECT_FALSE(is_admitted({.kinds = {"incident"}}));
  EXPECT_TRUE(is_admitted({.reasons = {"gpu_fallen_off_bus"}, .healths = {"failed"}}));
  EXPECT_FALSE(is_admitted({.reasons = {"gpu_fallen_off_bus"}, .healths = {"degraded"}}));
}

TEST(EventFilter, a_check_or_reason_must_exist) {
  const EventNames names{.checks = {"gpu.xid"}, .reasons = {"gpu_fallen_off_bus"}};
  EXPECT_TRUE(check_names({.checks = {"gpu", "gpu.xid"}, .reasons = {"gpu_fallen_off_bus"}}, names, {}));
  const auto wrong = check_names({.checks = {"gpu.xidd"}}, names, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::malformed);
  EXPECT_THAT(wrong.error().what, HasSubstr("did you mean gpu.xid?"));
  EXPECT_FALSE(check_names({.reasons = {"nope"}}, names, {}));
  // A check of the operator occurs in events only.
  EXPECT_TRUE(check_names({.checks = {"disk"}}, names, {event_at(1, "2026-11-30T03:00:00Z", "disk.mine")}));
}

TEST(EventFilter, the_spellings_of_a_gpu_name_it_in_all_events) {
  std::vector<Event> events{event_at(1, "2026-11-30T03:00:00Z"), event_at(2, "2026-11-30T03:00:01Z")};
  events[1].subject.index.reset();
  for (const char* name : {"GPU 3", "gpu/3", "0000:3B:00.0", "3b:00.0", "GPU 3 (0000:3b:00.0)"}) {
    EventFilter filter{.subjects = {name}};
    add_spellings(filter, events);
    EXPECT_THAT(ids_of(selected_events(events, filter)), ElementsAre(1, 2)) << name;
  }
  EventFilter other{.subjects = {"GPU 4"}};
  add_spellings(other, events);
  EXPECT_TRUE(selected_events(events, other).empty());
}

TEST(EventFilter, ends_before_the_time_of_until) {
  const auto at = parse_time("2026-11-30T03:00:00Z");
  EXPECT_TRUE(is_admitted({.since = at}));
  EXPECT_FALSE(is_admitted({.until = at}));
}

TEST(EventFilter, names_a_word_that_does_not_exist) {
  EXPECT_THAT(check_filter({.kinds = {"findng"}}).error().what, HasSubstr("did you mean finding?"));
  EXPECT_THAT(check_filter({.healths = {"bad"}}).error().what, HasSubstr("--health: no 'bad'"));
  const auto at = parse_time("2026-11-30T03:00:00Z");
  EXPECT_THAT(check_filter({.since = at, .until = at}).error().what, HasSubstr("--until"));
  EXPECT_TRUE(check_filter({.kinds = {"finding", "incident_closed"}, .healths = {"unknown"}}));
}

TEST(EventFilter, shows_events_in_the_order_of_time_not_of_arrival) {
  const auto events =
      selected_events({event_at(1, "2026-11-30T03:00:02Z"), event_at(2, "2026-11-30T03:00:01Z"),
                       event_at(4, "2026-11-30T03:00:03Z"), event_at(3, "2026-11-30T03:00:03Z"),
                       event_at(5, "2026-11-30T03:00:00Z", "host.clock")},
                      {.checks = {"gpu"}});
  EXPECT_THAT(ids_of(events), ElementsAre(2, 1, 3, 4));
}

TEST(EventLines, show_the_day_where_it_changes) {
  EventLines lines;
  EXPECT_THAT(lines.line_of(event_at(1, "2026-11-30T23:59:59Z")),
              HasSubstr("2026-11-30 (UTC)\n23:59:59.000  finding_raised  gpu.xid  gpu/0000:3b:00.0"));
  EXPECT_THAT(lines.line_of(event_at(2, "2026-11-30T23:59:59Z")), testing::StartsWith("23:59:59.000"));
  EXPECT_THAT(lines.line_of(event_at(3, "2026-12-01T00:00:00Z")), testing::StartsWith("2026-12-01 (UTC)\n"));
}

}  // namespace
}  // namespace autopilot::cli
