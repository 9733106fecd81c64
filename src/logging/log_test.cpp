// SPDX-License-Identifier: Apache-2.0
#include "logging/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::logging {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class Log : public testing::Test {
 protected:
  void TearDown() override { set_log(LogLevel::info, LogFormat::text); }

  static std::string written(LogLevel level, std::string_view message, LogFields fields = {}) {
    testing::internal::CaptureStderr();
    log(level, message, fields);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, a_line_has_time_level_message_and_fields) {
  EXPECT_THAT(written(LogLevel::info, "journal opened", {{"path", "/var/lib/autopilot"}, {"events", "12"}}),
              MatchesRegex("[0-9-]+T[0-9:.]+Z info journal opened path=/var/lib/autopilot events=12\n"));
}

TEST_F(Log, a_value_cannot_break_the_line_or_forge_a_field) {
  EXPECT_THAT(written(LogLevel::warning, "line", {{"text", "a\nlevel=error \"x\""}, {"empty", ""}}),
              HasSubstr(R"(line text="a\u000alevel=error \"x\"" empty="")"));
  EXPECT_THAT(written(LogLevel::warning, "line", {{"text", "\x1b[2J"}}), HasSubstr(R"(text="\u001b[2J")"));
}

TEST_F(Log, braces_in_a_message_are_no_format) {
  EXPECT_THAT(written(LogLevel::error, "body {} {0:x}", {{"json", "{}"}}),
              HasSubstr("body {} {0:x} json={}"));
}

TEST_F(Log, long_values_are_cut) {
  EXPECT_LT(written(LogLevel::info, "long", {{"text", std::string(1 << 20, 'x')}}).size(), 4300U);
}

TEST_F(Log, below_its_level_nothing_is_written) {
  EXPECT_EQ(written(LogLevel::debug, "hidden"), "");
  set_log(LogLevel::debug, LogFormat::text);
  EXPECT_THAT(written(LogLevel::debug, "shown"), HasSubstr("debug shown"));
}

TEST_F(Log, json_is_one_object_a_line) {
  set_log(LogLevel::info, LogFormat::json);
  EXPECT_THAT(written(LogLevel::warning, "say \"hi\"", {{"path", "C:\\x"}}),
              MatchesRegex(R"(\{"time":"[^"]+","level":"warning","message":"say \\"hi\\"","path":"C:\\\\x"\})"
                           "\n"));
}

TEST_F(Log, json_stays_utf8_when_the_machine_does_not_speak_it) {
  set_log(LogLevel::info, LogFormat::json);
  EXPECT_THAT(written(LogLevel::info, "line", {{"text", "a\xff\xc3\xa4"}}),
              HasSubstr("\"text\":\"a\xef\xbf\xbd\xc3\xa4\""));
}

TEST_F(Log, the_text_form_comes_back_after_json) {
  set_log(LogLevel::info, LogFormat::json);
  set_log(LogLevel::info, LogFormat::text);
  EXPECT_THAT(written(LogLevel::info, "plain"), HasSubstr("info plain\n"));
}

}  // namespace
}  // namespace autopilot::logging
