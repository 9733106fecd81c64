// SPDX-License-Identifier: Apache-2.0
#include "report/node_report_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/api/test_samples.hpp"

namespace autopilot::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// With these members of its status, beside those that it must have.
std::string report_with(const std::string& members) {
  return R"({"apiVersion":"autopilot.ibm.com/v1alpha1","kind":"NodeHealthReport",)"
         R"("metadata":{"name":"node-1","managedFields":[{"manager":"autopilot-agent"}]},)"
         R"("status":{"bootId":"b","simulated":false,"observedAt":"2026-11-21T03:04:05.678Z")" +
         (members.empty() ? "" : "," + members) + "}}";
}

std::string problem_with(const std::string& json) {
  const auto report = parse_report(json);
  if (report) return "";
  EXPECT_EQ(report.error().code, Errc::malformed);
  return report.error().what;
}

std::string incident(const std::string& id, const std::string& state = "open") {
  Incident one = api::testing::sample_incident();
  one.id = id;
  std::string text = api::to_json(one);
  const std::string closed = R"("state":"closed")";
  return text.replace(text.find(closed), closed.size(), R"("state":")" + state + '"');
}

std::string finding(const std::string& state, const std::string& check = "gpu.ecc") {
  return R"({"check":")" + check + R"(","bootId":"b","stateWords":")" + state +
         R"(","finding":{"subject":{"kind":"gpu","key":"0"},"health":"failed","reason":"r","message":"m",)"
         R"("evidence":{},"action":"none"}})";
}

TEST(ReportReader, an_older_report_says_less) {
  const auto report = parse_report(report_with(""));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->node, "node-1");
  EXPECT_FALSE(report->written);
  EXPECT_THAT(report->saved.incidents, IsEmpty());
  EXPECT_EQ(report->saved.next_incident, 1U);
}

TEST(ReportReader, what_a_newer_report_says_beside_is_ignored) {
  const auto report = parse_report(report_with(R"("moods":[1,{"a":null}],"written":{"word":"?"})"));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->written, incidents::WrittenVerdict{});
}

TEST(ReportReader, closed_incidents_are_not_taken_over) {
  const auto report =
      parse_report(report_with(R"("incidents":[)" + incident("a-1") + "," + incident("a-2", "closed") + "]"));
  ASSERT_TRUE(report) << report.error().what;
  ASSERT_THAT(report->saved.incidents, SizeIs(1));
  EXPECT_EQ(report->saved.incidents[0].id, "a-1");
}

TEST(ReportReader, names_the_place_of_what_is_wrong) {
  EXPECT_THAT(problem_with(""), HasSubstr("not JSON"));
  EXPECT_THAT(problem_with("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(problem_with("{}"), HasSubstr("apiVersion: expected a string"));
  EXPECT_THAT(problem_with(R"({"apiVersion":"v1","kind":"Pod"})"), HasSubstr("apiVersion: 'v1'"));
  EXPECT_THAT(problem_with(std::string(kLargestObject + 1, ' ')), HasSubstr("larger than"));
  const std::pair<std::string, std::string> cases[] = {
      {R"("incidents":3)", "status.incidents: expected a list"},
      {R"("incidents":[{"id":"a-1"}])", "status.incidents[0].state: expected a string"},
      {R"("incidents":[)" + incident("a b") + "]", "status.incidents[0].id: expected one word"},
      {R"("incidents":[)" + incident("a-1") + "," + incident("") + "]", "status.incidents[1].id: "},
      {R"("incidents":[)" + incident("a-18446744073709551615") + "]", "its number is too large"},
      {R"("findings":[)" + finding(std::string(600, 'x')) + "]", "status.findings[0].stateWords: too long"},
      {R"("findings":[)" + finding("m1 a-99999999999999999 0 0 0 0 0 0 0 0 0") + "]",
       "status.findings[0].stateWords: its number is too large"},
      {R"("findings":[)" + finding("m1 a-1 0 0 -9000000000000000000 0 0 0 0 0 0") + "]",
       "status.findings[0].stateWords: a time out of range"},
      {R"("findings":[)" + finding("", "a/../b") + "]", "status.findings[0].check: expected one word"},
      {R"("nextIncident":18446744073709551615)", "status.nextIncident: too large"},
      {R"("nextIncident":-1)", "status.nextIncident: expected a count"},
      {R"("written":{"verdict":"MAYBE"})", "status.written.verdict: 'MAYBE'"},
      {R"("written":{"evicting":[{"incident":"a,b","acknowledged":false}]})",
       "status.written.evicting[0].incident: expected one word"},
      {R"("passRecords":[{"gpuUuid":"","test":"t","time":"2026-11-21T03:04:05Z","bootId":"","operation":""}])",
       "status.passRecords[0].gpuUuid: expected one word"},
  };
  for (const auto& [members, problem] : cases)
    EXPECT_THAT(problem_with(report_with(members)), HasSubstr(problem));
}

TEST(ReportReader, refuses_more_than_a_report_can_say) {
  std::string many;
  for (int i = 0; i < 1100; ++i)
    many += (i == 0 ? "" : ",") + finding("x");
  EXPECT_THAT(problem_with(report_with(R"("findings":[)" + many + "]")),
              HasSubstr("status.findings: more than 1024 entries"));
}

TEST(ReportReader, a_report_that_was_cut_off_is_refused_wherever) {
  const std::string whole = report_with(R"("incidents":[)" + incident("a-1") + "]");
  ASSERT_EQ(problem_with(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(problem_with(whole.substr(0, length)), "");
}

}  // namespace
}  // namespace autopilot::report
