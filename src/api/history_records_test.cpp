// SPDX-License-Identifier: Apache-2.0
#include "api/history_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "learning/record_check.hpp"
#include "tests/support/learning/record_samples.hpp"

namespace autopilot::api {
namespace {

namespace samples = learning::testing;
using ::testing::HasSubstr;

std::string history_problem(std::string_view line) {
  const auto parsed = parse_history_line(line);
  return parsed ? "accepted" : parsed.error().what;
}

std::string read_and_written(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const auto parsed = parse_history_line(line);
  return parsed ? to_history_line(*parsed) : parsed.error().what;
}

constexpr std::string_view kTicket =
    R"({"type":"repair","id":"OPS-4711","node":"gpu-017","gpu":"S1","begin":"2026-11-21T03:04:05Z","action":"replace"})";

TEST(HistoryRecords, a_ticket_is_one_short_line) {
  const auto parsed = parse_history_line(kTicket);
  ASSERT_TRUE(parsed) << parsed.error().what;
  const auto& repair = std::get<learning::Repair>(*parsed);
  EXPECT_EQ(repair.place.gpu, "S1");
  EXPECT_EQ(repair.end, std::nullopt);
}

TEST(HistoryRecords, every_type_is_read_as_it_was_written) {
  for (const auto& record : samples::one_of_each()) {
    const std::string line = to_history_line(record);
    EXPECT_EQ(read_and_written(line), line);
  }
}

TEST(HistoryRecords, random_records_are_read_as_they_were_written) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    const std::string line = to_history_line(samples::random_record(random, i));
    ASSERT_EQ(read_and_written(line), line);
  }
}

TEST(HistoryRecords, a_time_keeps_its_nanoseconds) {
  const WallTime time = samples::kBegin + std::chrono::nanoseconds{1'000'042};
  EXPECT_EQ(format_exact_time(time), "2025-11-24T16:00:00.001000042Z");
  EXPECT_EQ(parse_time(format_exact_time(time)), time);
  EXPECT_EQ(format_exact_time(samples::kBegin), "2025-11-24T16:00:00.000Z");
}

TEST(HistoryRecords, a_problem_names_the_member) {
  EXPECT_EQ(history_problem(R"({"type":"repair","id":"1","node":"n","begun":"2026-11-21T03:04:05Z"})"),
            "begun: unknown member; did you mean begin?");
  EXPECT_EQ(history_problem(R"({"type":"repair","id":"1","node":"n","action":"replace"})"), "begin: missing");
  EXPECT_EQ(history_problem(R"({"type":"repair","id":"","node":"n"})"), "id: empty");
  EXPECT_EQ(history_problem(R"({"type":"repair","id":"1","id":"2"})"), "id: appears twice");
  EXPECT_THAT(history_problem(R"({"type":"repair","id":"1","node":"n","begin":"yesterday"})"),
              HasSubstr("begin: expected a time such as 2026-11-21T03:04:05Z, not 'yesterday'"));
  EXPECT_EQ(
      history_problem(R"({"type":"label","id":"1","node":"n","time":"2026-11-21T03:04:05Z","answer":"yes"})"),
      "answer: 'yes' is not a valid value; expected one of faulty, healthy, unclear");
  EXPECT_THAT(history_problem(R"({"type":"ticket"})"), HasSubstr("type: 'ticket' is not a type of record"));
  EXPECT_THAT(history_problem(R"({"id":"1"})"), HasSubstr("type: missing"));
  EXPECT_EQ(
      history_problem(
          R"({"type":"validation","id":"1","node":"n","start":"2026-11-21T03:04:05Z","end":"2026-11-21T03:04:06Z","reason":"repair","depth":"quick","verdict":"passed","checks":[{"check":"gpu.xid","health":"healthy"},{"check":"gpu.ecc","health":"bad"}]})"),
      "checks[1].health: 'bad' is not a valid value; expected one of healthy, degraded, failed, unknown, "
      "unsupported");
  EXPECT_THAT(
      history_problem(
          R"({"type":"repair","id":"1","node":"n","begin":"2026-11-21T03:04:05Z","end":"2026-11-20T03:04:05Z","action":"replace"})"),
      HasSubstr("end: before the begin"));
}

TEST(HistoryRecords, refuses_what_is_not_one_object) {
  EXPECT_NE(history_problem(""), "accepted");
  EXPECT_NE(history_problem("[]"), "accepted");
  EXPECT_NE(history_problem("null"), "accepted");
  EXPECT_NE(history_problem(std::string(kTicket) + "}"), "accepted");
  EXPECT_NE(history_problem(std::string(kTicket) + std::string(kTicket)), "accepted");
  EXPECT_NE(history_problem(std::string(100'000, '[')), "accepted");
  EXPECT_NE(history_problem("{\"type\":\"repair\",\"id\":\"\xff\"}"), "accepted");
  EXPECT_THAT(history_problem(std::string(kLongestHistoryLine + 1, ' ')), HasSubstr("longer than"));
}

TEST(HistoryRecords, no_beginning_of_a_line_is_accepted) {
  const std::string line = to_history_line(samples::validation());
  for (std::size_t size = 0; size + 1 < line.size(); ++size)
    EXPECT_NE(history_problem(line.substr(0, size)), "accepted") << size;
}

TEST(HistoryRecords, the_longest_record_fits_into_a_line) {
  learning::Validation validation = samples::validation();
  validation.checks.assign(256, {std::string(253, 'c'), std::string(253, 'g'), Health::failed,
                                 std::string(253, 'r'), std::string(4096, 't')});
  const std::string line = to_history_line(validation);
  EXPECT_LE(line.size(), kLongestHistoryLine);
  EXPECT_EQ(read_and_written(line), line);
}

}  // namespace
}  // namespace autopilot::api
