// SPDX-License-Identifier: Apache-2.0
#include "api/json_writer.hpp"

#include <gtest/gtest.h>

namespace autopilot::api {
namespace {

std::string word(std::string_view text) {
  JsonWriter out;
  out.begin_object();
  out.word("w", text);
  out.end_object();
  return out.take();
}

TEST(JsonWriter, no_character_that_a_terminal_obeys_is_written_as_it_is) {
  EXPECT_EQ(word("a\033[2J\x7f"), "{\"w\":\"a\\u001b[2J\\u007f\"}\n");
  EXPECT_EQ(word("a\xc2\x9b"
                 "2J\xc2\x80"),
            "{\"w\":\"a\\u009b2J\\u0080\"}\n");
  EXPECT_EQ(word("25 \xc2\xb0"
                 "C"),
            "{\"w\":\"25 \xc2\xb0"
            "C\"}\n");
}

}  // namespace
}  // namespace autopilot::api
