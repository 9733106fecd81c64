// SPDX-License-Identifier: Apache-2.0
#include "api/fault_trace.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::api {
namespace {

std::string trace_entry(const std::string& day, const std::string& type = "fault_start") {
  return R"({"node_id":"n1","event_time":)" + day + R"(,"event_type":")" + type +
         R"(","fault_type":{"Level":"Hardware Failure","Class":"GPU","Desc":"GPU Lost"}})";
}

std::string trace_problem_of(const std::string& text) {
  const auto events = parse_fault_trace(text);
  return events ? "" : events.error().what;
}

TEST(FaultTrace, entries_are_read) {
  const auto events =
      parse_fault_trace("[\n" + trace_entry("3.8955") + ",\n" + trace_entry("4", "fault_end") + "\n]\n");
  ASSERT_TRUE(events) << events.error().what;
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ((*events)[0].node, "n1");
  EXPECT_EQ((*events)[0].day, 3.8955);
  EXPECT_TRUE((*events)[0].is_begin);
  EXPECT_EQ((*events)[0].level, "Hardware Failure");
  EXPECT_EQ((*events)[0].kind, "GPU");
  EXPECT_EQ((*events)[0].description, "GPU Lost");
  EXPECT_FALSE((*events)[1].is_begin);
}

TEST(FaultTrace, a_problem_names_the_entry_and_the_member) {
  const std::string good = "[" + trace_entry("1") + ",";
  EXPECT_EQ(trace_problem_of(good + trace_entry("NaN") + "]"), "entry 1: event_time: expected a number");
  EXPECT_EQ(trace_problem_of(good + trace_entry("-1") + "]"),
            "entry 1: event_time: expected 0 to 36500 days");
  EXPECT_EQ(trace_problem_of(good + trace_entry("36501") + "]"),
            "entry 1: event_time: expected 0 to 36500 days");
  EXPECT_EQ(trace_problem_of(good + trace_entry("1e999") + "]"),
            "entry 1: event_time: the number is too large");
  EXPECT_EQ(trace_problem_of(good + trace_entry("\"2\"") + "]"), "entry 1: event_time: expected a number");
  EXPECT_EQ(trace_problem_of(good + trace_entry("1", "fault_pause") + "]"),
            "entry 1: event_type: 'fault_pause' is not valid; expected fault_start or fault_end");
  EXPECT_EQ(trace_problem_of(good + R"({"node_id":""}])"), "entry 1: node_id: is empty");
  EXPECT_EQ(trace_problem_of(good + R"({"node_id":"a"}])"), "entry 1: event_time: is missing");
  EXPECT_EQ(trace_problem_of(good + R"({"node_id":"a","node_id":"a"}])"), "entry 1: node_id: appears twice");
  EXPECT_EQ(trace_problem_of(good + R"({"nodeid":"a"}])"), "entry 1: nodeid: is not a member of the format");
  EXPECT_EQ(trace_problem_of(good + R"({"fault_type":{"Level":"x"}}])"), "entry 1: Class: is missing");
  EXPECT_EQ(trace_problem_of(good + "7]"), "entry 1: expected an object");
}

TEST(FaultTrace, what_is_not_a_list_of_entries_is_refused) {
  for (const std::string text : {"", "{}", "null", "[", "[]", "[]x", "\x1f\x8b", "[{}", "nonsense"}) {
    const auto events = parse_fault_trace(text);
    ASSERT_FALSE(events) << text;
    EXPECT_EQ(events.error().code, Errc::malformed);
    EXPECT_FALSE(events.error().what.empty());
  }
  EXPECT_FALSE(trace_problem_of("[" + trace_entry("1") + "] trailing").empty());
  const std::string whole = "[" + trace_entry("1") + "]";
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_fault_trace(whole.substr(0, size))) << size;
}

TEST(FaultTrace, limits_are_errors) {
  const std::string longest(kLongestTraceText, 'n');
  EXPECT_TRUE(trace_problem_of("[" + trace_entry("1") + R"(,{"node_id":")" + longest + R"("}])")
                  .ends_with("is missing"));
  EXPECT_EQ(trace_problem_of("[" + trace_entry("1") + R"(,{"node_id":"n)" + longest + R"("}])"),
            "entry 1: node_id: longer than 256 bytes");
  EXPECT_EQ(parse_fault_trace(std::string(kLargestTrace + 1, ' ')).error().code, Errc::exhausted);
}

TEST(FaultTrace, more_entries_than_the_limit_are_an_error) {
  const std::string entry = trace_entry("1");
  std::string text = "[" + entry;
  for (std::size_t i = 1; i < kMostTraceEvents; ++i)
    text += "," + entry;
  EXPECT_EQ(parse_fault_trace(text + "]")->size(), kMostTraceEvents);
  EXPECT_EQ(parse_fault_trace(text + "," + entry + "]").error().code, Errc::exhausted);
}

}  // namespace
}  // namespace autopilot::api
