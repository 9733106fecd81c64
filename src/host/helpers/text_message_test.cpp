// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/text_message.hpp"

#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

TEST(TextMessage, is_read_back_as_it_was) {
  for (const std::string text : {"", "eth0", "a \"b\"\n\\c", "\xFF\xFE"})
    EXPECT_EQ(text_in(make_text_message(text)), text);
}

TEST(TextMessage, is_nothing_else) {
  for (const char* message : {"", "7", "null", "{\"text\":\"a\"}", "[\"a\"]", "\"a", "\"a\" \"b\""})
    EXPECT_FALSE(text_in(message)) << message;
}

}  // namespace
}  // namespace autopilot::host
