// SPDX-License-Identifier: Apache-2.0
#include "agent/event_streams.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Ids, and gaps as they are told.
std::vector<std::string> followed(std::uint64_t last_id, const runtime::EventLog& log) {
  std::vector<std::string> words;
  for (const net::ServerEvent& event : what_followed(last_id, log))
    words.push_back(event.id.empty() ? event.data : event.id);
  return words;
}

Event kept(std::uint64_t id) {
  Event event;
  event.id = id;
  return event;
}

// What an agent holds after one that was killed had given ids beyond 4.
class WhatFollowed : public ::testing::Test {
 protected:
  WhatFollowed() {
    log_.restore(1000, {kept(3), kept(4)});
    log_.add({}, {});
    log_.add({}, {});
    log_.show_all();
  }
  runtime::EventLog log_;
};

TEST_F(WhatFollowed, an_event_that_is_the_newest_is_nothing) {
  EXPECT_THAT(followed(1002, log_), IsEmpty());
  EXPECT_THAT(followed(1001, log_), ElementsAre("1002"));
}

TEST_F(WhatFollowed, a_restart_after_which_ids_were_left_out_is_a_gap) {
  EXPECT_THAT(followed(3, log_), ElementsAre("4", R"({"after":4,"continues":1001})", "1001", "1002"));
  EXPECT_THAT(followed(0, log_), ElementsAre("3", "4", R"({"after":4,"continues":1001})", "1001", "1002"));
}

TEST_F(WhatFollowed, an_event_that_was_never_durable_is_a_gap_and_not_another_event) {
  EXPECT_THAT(followed(6, log_), ElementsAre(R"({"after":6,"continues":1001})", "1001", "1002"));
}

TEST_F(WhatFollowed, an_event_that_is_no_longer_held_is_a_gap) {
  EXPECT_THAT(followed(1, log_), ElementsAre(R"({"after":1,"continues":3})", "3", "4",
                                             R"({"after":4,"continues":1001})", "1001", "1002"));
  EXPECT_THAT(followed(2, log_), ElementsAre("3", "4", R"({"after":4,"continues":1001})", "1001", "1002"));
}

TEST_F(WhatFollowed, an_id_that_was_not_given_is_a_gap) {
  EXPECT_THAT(followed(5000, log_), ElementsAre(R"({"after":5000,"continues":1003})"));
}

}  // namespace
}  // namespace autopilot::agent
