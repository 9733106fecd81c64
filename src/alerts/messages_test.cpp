// SPDX-License-Identifier: Apache-2.0
#include "alerts/messages.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "alerts/signature.hpp"

namespace autopilot::alerts::messages_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kNow{std::chrono::seconds{1767225630}};

jobs::Alert alert_of(jobs::Severity severity, jobs::AlertKind kind = jobs::AlertKind::raised) {
  return {.id = "00112233aabbccdd",
          .job = "ml/llama-7f3a",
          .kind = kind,
          .severity = severity,
          .time = kNow,
          .title = "Job llama hangs: GPU 3 of gpu-001",
          .body = "line 1\nline 2"};
}

jobs::JobReport report_with_culprit() {
  jobs::JobFinding finding;
  finding.id = "00112233aabbccdd";
  finding.job = "ml/llama-7f3a";
  finding.effect = jobs::Effect::hang;
  finding.culprit = {.kind = jobs::EntityKind::gpu, .node = "gpu-001", .gpu = 3};
  finding.onset = kNow - std::chrono::minutes{2};
  jobs::JobReport report;
  report.state.job = "ml/llama-7f3a";
  report.state.name = "llama";
  report.owner = "PyTorchJob ml/llama";
  report.findings.push_back(finding);
  return report;
}

Notice notice_of(jobs::Severity severity, jobs::AlertKind kind = jobs::AlertKind::raised) {
  const std::vector<jobs::JobReport> reports{report_with_culprit()};
  return make_notice(alert_of(severity, kind), reports);
}

TEST(AlertMessages, labels_name_what_people_route_by) {
  EXPECT_EQ(labels_of(notice_of(jobs::Severity::page)), (Labels{{"alertname", "AutopilotJobHang"},
                                                                {"job", "ml/llama-7f3a"},
                                                                {"severity", "critical"},
                                                                {"effect", "hang"},
                                                                {"finding", "00112233aabbccdd"},
                                                                {"node", "gpu-001"},
                                                                {"gpu", "3"}}));
}

TEST(AlertMessages, an_unlocalised_finding_names_no_node) {
  const Notice notice = make_notice(alert_of(jobs::Severity::ticket), {});
  const Labels labels = labels_of(notice);
  EXPECT_FALSE(labels.contains("node"));
  EXPECT_FALSE(labels.contains("gpu"));
  const auto json = boost::json::parse(webhook_json(notice)).as_object();
  EXPECT_FALSE(json.at("culprit").as_object().at("named").as_bool());
}

TEST(AlertMessages, a_webhook_gets_the_finding_and_its_text) {
  const auto json = boost::json::parse(webhook_json(notice_of(jobs::Severity::page))).as_object();
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("finding"), "00112233aabbccdd");
  EXPECT_EQ(json.at("kind"), "raised");
  EXPECT_EQ(json.at("severity"), "page");
  EXPECT_EQ(json.at("since"), "2025-12-31T23:58:30.000Z");
  EXPECT_EQ(json.at("owner"), "PyTorchJob ml/llama");
  EXPECT_EQ(json.at("culprit").as_object().at("node"), "gpu-001");
  EXPECT_EQ(json.at("body"), "line 1\nline 2");
}

TEST(AlertMessages, a_name_of_a_job_is_no_markup_in_slack) {
  Notice notice = notice_of(jobs::Severity::page);
  notice.alert.title = "<!channel> job";
  notice.alert.body = "``` <https://evil.example|click>";
  const auto json = boost::json::parse(slack_json(notice)).as_object();
  EXPECT_EQ(json.at("text"), "[PAGE] &lt;!channel&gt; job");
  const std::string section(
      json.at("blocks").as_array().at(1).as_object().at("text").as_object().at("text").as_string());
  EXPECT_EQ(section, "```''' &lt;https://evil.example|click&gt;```");
}

TEST(AlertMessages, a_long_body_fits_a_block_of_slack) {
  Notice notice = notice_of(jobs::Severity::page);
  notice.alert.title = std::string(500, 't');
  notice.alert.body = std::string(2896, 'x') + "<<<<" + std::string(5000, 'x');
  const auto json = boost::json::parse(slack_json(notice)).as_object();
  const auto& blocks = json.at("blocks").as_array();
  EXPECT_LE(blocks.at(0).as_object().at("text").as_object().at("text").as_string().size(), 150);
  const auto& text = blocks.at(1).as_object().at("text").as_object().at("text").as_string();
  EXPECT_LE(text.size(), 3000);
  EXPECT_THAT(std::string(text), Not(HasSubstr("&l\n")));
}

TEST(AlertMessages, names_that_are_not_text_stay_valid_json) {
  jobs::Alert alert = alert_of(jobs::Severity::info);
  alert.job = "bad\xFF\x01\njob";
  const Notice notice = make_notice(alert, {});
  EXPECT_EQ(labels_of(notice).at("job"), "bad\xEF\xBF\xBD  job");
  EXPECT_NO_THROW((void)boost::json::parse(webhook_json(notice)));
}

// The digest was computed with Python's hmac module.
TEST(AlertSignature, is_hmac_sha256_of_time_and_body) {
  EXPECT_EQ(sign("secret", kNow, R"({"a":1})"),
            "t=1767225630,v1=74375fb176292702c560fbc157020d52309ed9f87293d6ca045b753fb877a234");
  EXPECT_NE(sign("secret", kNow, "a"), sign("secret", kNow + std::chrono::seconds{1}, "a"));
  EXPECT_NE(sign("secret", kNow, "a"), sign("other", kNow, "a"));
}

}  // namespace
}  // namespace autopilot::alerts::messages_test
