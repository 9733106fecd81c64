// SPDX-License-Identifier: Apache-2.0

#include "incidents/finding_state.hpp"

#include <gtest/gtest.h>

#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {

namespace {

TEST(Memory, survives_as_text) {
  const Memory memory{
      "0123abcd-7", 2, 3, testing::at(std::chrono::seconds{5}), testing::at(Duration{1}), true, false, true};
  const auto text = to_text(memory);
  const auto back = parse_memory(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_text(*back), text);
  EXPECT_EQ(back->incident, "0123abcd-7");
  EXPECT_EQ(back->reported.wall, memory.reported.wall);
  EXPECT_EQ(back->fresh.mono, memory.fresh.mono);
  EXPECT_TRUE(back->answered);
  EXPECT_FALSE(back->gone);
  EXPECT_TRUE(back->released);
}

TEST(Memory, refuses_every_text_that_is_not_whole) {
  const auto text = to_text(Memory{"a-1", 0, 0, {}, {}, false, false, false});
  ASSERT_TRUE(parse_memory(text));
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse_memory(text.substr(0, size))) << size;
  for (const std::string_view bad :
       {"", "m1", "m2 a-1 0 0 0 0 0 0 0 0 0", "m1 a-1 -1 0 0 0 0 0 0 0 0", "m1 a-1 0 0 0 0 0 0 0 0 2",
        "m1 a-1 0 0 0 0 0 0 0 0 0 0", "m1  0 0 0 0 0 0 0 0 0", "m1 a-1 0 99999999999 0 0 0 0 0 0 0"})
    EXPECT_FALSE(parse_memory(bad)) << bad;
}

}  // namespace

}  // namespace autopilot::incidents
