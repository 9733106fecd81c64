// SPDX-License-Identifier: Apache-2.0
#include "core/value.hpp"

#include <gtest/gtest.h>

namespace autopilot {
namespace {

TEST(Value, is_written_as_people_write_it) {
  EXPECT_EQ(to_string(Value{std::int64_t{12}}), "12");
  EXPECT_EQ(to_string(Value{INT64_MIN}), "-9223372036854775808");
  EXPECT_EQ(to_string(Value{0.5}), "0.5");
  EXPECT_EQ(to_string(Value{1.7976931348623157e308}), "1.7976931348623157e+308");
  EXPECT_EQ(to_string(Value{true}), "true");
  EXPECT_EQ(to_string(Value{std::string("ACTIVE")}), "ACTIVE");
}

TEST(Value, words_are_no_numbers) {
  EXPECT_EQ(as_number(Value{std::int64_t{3}}), 3.0);
  EXPECT_EQ(as_number(Value{true}), 1.0);
  EXPECT_EQ(as_number(Value{std::string("3")}), std::nullopt);
}

TEST(Attributes, are_found_by_name) {
  const Attributes attributes{{"line", Value{std::string("NVRM: Xid")}}, {"pid", Value{std::int64_t{7}}}};
  ASSERT_NE(find_attribute(attributes, "pid"), nullptr);
  EXPECT_EQ(to_string(*find_attribute(attributes, "pid")), "7");
  EXPECT_EQ(find_attribute(attributes, "Pid"), nullptr);
}

}  // namespace
}  // namespace autopilot
