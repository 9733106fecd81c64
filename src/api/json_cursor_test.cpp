// SPDX-License-Identifier: Apache-2.0
#include "api/json_cursor.hpp"

#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::api {
namespace {

std::string problem_of_number(std::string_view text) {
  JsonCursor json(text);
  JsonNumber number;
  if (json.read_number(number)) json.expect_end();
  return json.problem();
}

double number_of(std::string_view text) {
  JsonCursor json(text);
  JsonNumber number;
  EXPECT_TRUE(json.read_number(number) && json.expect_end()) << text << ": " << json.problem();
  return number.value;
}

std::string text_of(std::string_view json_text) {
  JsonCursor json(json_text);
  std::string text;
  return json.read_text(text) && json.expect_end() ? text : "problem: " + json.problem();
}

TEST(JsonCursor, numbers_are_the_nearest_doubles) {
  for (const double number :
       {0.0, -0.0, 1.0, 0.1, 612.5, 1e22, 1e23, 123456789012345678.0, 5e-324, 1.7976931348623157e308,
        2.2250738585072011e-308, 9007199254740993.0, 0.30000000000000004})
    EXPECT_EQ(
        number_of([&] {
          std::string text(32, '\0');
          text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.17g", number)));
          return text;
        }()),
        number);
  EXPECT_EQ(number_of("1e-400"), 0);
  EXPECT_EQ(number_of("0.000e99999999999999999999"), 0);
  EXPECT_EQ(number_of("100000000000000000000000000e-26"), 1);
}

TEST(JsonCursor, what_is_no_number_of_json_is_refused) {
  for (const char* text : {"", "-", "01", "1.", ".5", "1e", "1e+", "+1", "0x10", "1 2", "nan", "Infinity",
                           "--1", "1e400", "\"1\"", "null"})
    EXPECT_NE(problem_of_number(text), "") << text;
  EXPECT_EQ(problem_of_number(std::string(400, '9') + "e-5"), "the number is too large");
}

TEST(JsonCursor, integers_and_nanoseconds_are_exact_or_missing) {
  const auto read = [](std::string_view text) {
    JsonCursor json(text);
    JsonNumber number;
    json.read_number(number);
    return number;
  };
  EXPECT_EQ(read("1e3").integer(), 1000);
  EXPECT_EQ(read("1.0").integer(), 1);
  EXPECT_EQ(read("-9223372036854775807").integer(), -9223372036854775807);
  EXPECT_FALSE(read("1.5").integer());
  EXPECT_FALSE(read("1e19").integer());
  EXPECT_FALSE(read("1e99999").integer());
  EXPECT_EQ(read("0e99999").integer(), 0);
  EXPECT_EQ(read("1767225640.000000001").nanoseconds(), 1767225640000000001);
  EXPECT_EQ(read("1e-10").nanoseconds(), 0);
  EXPECT_FALSE(read("1e10").nanoseconds());
}

TEST(JsonCursor, escapes_are_resolved_and_texts_are_utf8) {
  EXPECT_EQ(text_of(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(text_of(R"("\u00fc\u20ac\ud83d\ude00")"), "ü€😀");
  EXPECT_EQ(text_of("\"ü€😀\""), "ü€😀");
  for (const char* text :
       {R"("\ud800")", R"("\ud800\u0041")", R"("\udc00")", R"("\u12")", R"("\x41")", "\"\x01\"",
        "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\x80\"", "\"\xe2\x82\"", "\"a", "a"})
    EXPECT_TRUE(text_of(text).starts_with("problem: ")) << text;
}

TEST(JsonCursor, objects_and_lists_are_walked_in_order) {
  JsonCursor json(R"( { "a" : [ 1 , 2 ] , "\u0062" : { } , "c" : [] , "d" : { "x" : null } } )");
  std::vector<std::string> names;
  std::string_view name;
  ASSERT_TRUE(json.enter_object());
  while (json.next_member(name)) {
    names.emplace_back(name);
    EXPECT_TRUE(json.skip_value());
  }
  EXPECT_TRUE(json.expect_end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(JsonCursor, malformed_structures_are_refused_at_their_place) {
  for (const char* text :
       {"{", "{]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}", "{a:1}", "{\"a\":[1,]}",
        "{\"a\":[1 2]}", "{\"a\":tru}", "{\"a\":1}}", "{\"a\":1"}) {
    JsonCursor json(text);
    std::string_view name;
    json.enter_object();
    while (json.next_member(name))
      json.skip_value();
    json.expect_end();
    EXPECT_TRUE(json.has_failed()) << text;
    EXPECT_FALSE(json.take_null());
    EXPECT_FALSE(json.skip_value());
  }
}

}  // namespace
}  // namespace autopilot::api
