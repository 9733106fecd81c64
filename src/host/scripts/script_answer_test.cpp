// SPDX-License-Identifier: Apache-2.0
#include "host/scripts/script_answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

ChildReport ended(int code, std::string output, std::string errors = "") {
  ChildReport report;
  report.status.code = code;
  report.output = std::move(output);
  report.errors = std::move(errors);
  return report;
}

TEST(ScriptAnswer, exit_codes_say_the_health_and_the_first_line_the_message) {
  EXPECT_EQ(read_script_answer(ended(0, ""))->health, Health::healthy);
  EXPECT_EQ(read_script_answer(ended(1, "raid rebuilds\nmore"))->health, Health::degraded);
  EXPECT_EQ(read_script_answer(ended(1, "raid rebuilds\nmore"))->message, "raid rebuilds");
  EXPECT_EQ(read_script_answer(ended(2, "x"))->health, Health::failed);
  EXPECT_EQ(read_script_answer(ended(3, "no answer"))->health, Health::unknown);
}

TEST(ScriptAnswer, the_worse_of_json_and_exit_code_counts) {
  const auto health_of = [](int code, const char* output) {
    return read_script_answer(ended(code, output))->health;
  };
  EXPECT_EQ(health_of(0, R"({"health": "degraded"})"), Health::degraded);
  EXPECT_EQ(health_of(1, R"({"health": "healthy"})"), Health::degraded);
  EXPECT_EQ(health_of(2, R"({"health": "healthy"})"), Health::failed);
  EXPECT_EQ(health_of(2, R"({"health": "unknown"})"), Health::failed);
  EXPECT_EQ(health_of(3, R"({"health": "degraded"})"), Health::unknown);
  EXPECT_EQ(health_of(1, R"({"health": "failed"})"), Health::failed);
  EXPECT_EQ(health_of(127, R"({"health": "healthy"})"), Health::unknown);
  EXPECT_EQ(health_of(127, R"({"health": "failed"})"), Health::failed);
  const auto answer = read_script_answer(ended(2, R"({"health": "healthy", "message": "all fans turn"})"));
  EXPECT_THAT(answer->message, HasSubstr("reported healthy, but"));
  EXPECT_THAT(answer->message, HasSubstr("all fans turn"));
}

TEST(ScriptAnswer, json_brings_readings) {
  const auto answer = read_script_answer(ended(
      0,
      R"({"health": "failed", "message": "fan 3", "observations": [{"name": "fan.rpm", "value": 12, "unit": "rpm"}]})"));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->health, Health::failed);
  EXPECT_EQ(answer->message, "fan 3");
  ASSERT_EQ(answer->readings.size(), 1U);
  EXPECT_EQ(answer->readings[0].value, 12);
  EXPECT_EQ(answer->readings[0].unit, "rpm");
}

TEST(ScriptAnswer, anything_else_is_an_error_and_never_healthy) {
  for (const char* output :
       {"{", R"({"message": "x"})", R"({"health": "fine"})", R"({"health": "unsupported"})",
        R"({"health": 1})", R"({"health": "healthy", "observations": 3})",
        R"({"health": "healthy", "observations": [{"name": "A b", "value": 1}]})",
        R"({"health": "healthy", "observations": [{"name": "a", "value": "1"}]})",
        R"({"health": "healthy"} extra)"})
    EXPECT_EQ(read_script_answer(ended(0, output)).error().code, Errc::malformed) << output;
  EXPECT_THAT(read_script_answer(ended(127, "", "sh: nope: not found")).error().what, HasSubstr("not found"));
  auto cut = ended(0, R"({"health": "healthy"})");
  cut.dropped_bytes = 1;
  EXPECT_FALSE(read_script_answer(cut));
  auto late = ended(0, "");
  late.end = ChildEnd::timed_out;
  EXPECT_EQ(read_script_answer(late).error().code, Errc::timed_out);
  auto killed = ended(0, "");
  killed.end = ChildEnd::signalled;
  killed.status = {true, 11};
  EXPECT_THAT(read_script_answer(killed).error().what, HasSubstr("Segmentation fault"));
}

TEST(ScriptAnswer, binary_output_becomes_clean_text) {
  const auto answer = read_script_answer(ended(2, std::string("\x1b[31mred\xff\0end", 13)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->message.find('\x1b'), std::string::npos);
  EXPECT_LE(read_script_answer(ended(2, std::string(5000, 'a')))->message.size(), ScriptAnswer::kMaxMessage);
}

}  // namespace
}  // namespace autopilot::host
