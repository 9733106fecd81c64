// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/memory/job_memory.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/controller/job_samples.hpp"

namespace autopilot::controller::job_memory_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::job_finding;
using testing::job_report;
using testing::kJobTime;
using ::testing::SizeIs;

constexpr std::string_view kJob = "ml/train-7f3a";

// A report with something of everything that is stored.
jobs::JobReport full_report() {
  jobs::JobReport report = job_report();
  const std::string id = report.findings.front().id;
  jobs::JobFinding ended = job_finding(jobs::Effect::slow);
  ended.id = "ffeeddccbbaa9988";
  ended.resolved = kJobTime;
  report.findings.push_back(ended);
  report.sent[id] = {.last = kJobTime, .severity = jobs::Severity::page};
  report.sent[ended.id] = {.last = kJobTime, .severity = jobs::Severity::ticket, .is_resolved = true};
  report.acknowledged.push_back({.time = kJobTime, .finding = id, .by = "ann"});
  report.feedback.push_back({.time = kJobTime,
                             .finding = id,
                             .verdict = jobs::Verdict::confirmed,
                             .by = "ann",
                             .note = "a \"loose\" cable\n"});
  report.muted_until = kJobTime + 2h;
  report.done.push_back({.time = kJobTime,
                         .finding = id,
                         .choice = jobs::Choice::swap_at_checkpoint,
                         .culprit = report.findings.front().culprit,
                         .cause = "xid_79",
                         .waits = true});
  report.done.push_back({.time = kJobTime,
                         .finding = ended.id,
                         .choice = jobs::Choice::swap_at_checkpoint,
                         .culprit = report.findings.front().culprit,
                         .part = jobs::ActionPart::after_checkpoint,
                         .is_settled = true});
  return report;
}

Result<jobs::JobReport> parse(std::string_view text, WallTime now = kJobTime + 1min) {
  return parse_job_memory(text, kJob, now);
}

TEST(JobMemory, survives_writing_and_reading) {
  const jobs::JobReport report = full_report();
  const auto read = parse(format_job_memory(report));
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_THAT(read->findings, SizeIs(2));
  const jobs::JobFinding& finding = read->findings[0];
  EXPECT_EQ(finding.id, report.findings[0].id);
  EXPECT_EQ(finding.culprit, report.findings[0].culprit);
  EXPECT_EQ(finding.onset, report.findings[0].onset);
  EXPECT_EQ(finding.summary, report.findings[0].summary);
  EXPECT_FALSE(finding.resolved);
  EXPECT_THAT(finding.evidence, IsEmpty());
  EXPECT_EQ(read->findings[1].resolved, kJobTime);
  EXPECT_EQ(read->sent, report.sent);
  EXPECT_EQ(read->done, report.done);
  EXPECT_EQ(read->muted_until, report.muted_until);
  ASSERT_THAT(read->acknowledged, SizeIs(1));
  EXPECT_EQ(read->acknowledged[0].by, "ann");
  ASSERT_THAT(read->feedback, SizeIs(1));
  EXPECT_EQ(read->feedback[0].note, "a \"loose\" cable\n");
  EXPECT_EQ(read->feedback[0].verdict, jobs::Verdict::confirmed);
}

TEST(JobMemory, of_a_healthy_job_is_empty_and_equal_facts_give_equal_texts) {
  jobs::JobReport healthy = job_report();
  healthy.findings.clear();
  EXPECT_EQ(format_job_memory(healthy), "");
  jobs::JobReport later = full_report();
  later.findings[0].decision.since_checkpoint = 3;
  later.findings[0].slowdown = 0.5;
  later.findings[0].ranks = {3};
  EXPECT_EQ(format_job_memory(later), format_job_memory(full_report()));
}

TEST(JobMemory, a_truncated_text_is_malformed_at_every_length) {
  const std::string text = format_job_memory(full_report());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse(text.substr(0, size))) << size;
}

TEST(JobMemory, is_bounded_and_loses_the_oldest_feedback_first) {
  jobs::JobReport report = full_report();
  for (int at = 0; at < 64; ++at) {
    jobs::JobFinding finding = job_finding();
    finding.id = "open" + std::to_string(at);
    finding.summary = std::string(9000, '\x01');
    finding.cause = std::string(9000, 'c');
    report.findings.push_back(finding);
    report.feedback.push_back(
        {.time = kJobTime, .finding = finding.id, .note = std::to_string(at) + std::string(1000, 'n')});
  }
  const std::string text = format_job_memory(report);
  EXPECT_LE(text.size(), kMaxMemoryBytes);
  const auto read = parse(text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->findings.at(0).id, report.findings[0].id) << "the worst remains";
  EXPECT_EQ(read->done, report.done);
  EXPECT_EQ(read->muted_until, report.muted_until);
}

boost::json::value repeated(char sign, std::size_t size) {
  return boost::json::string(size, sign);
}

// The text of full_report() with another member.
std::string with(std::string_view name, boost::json::value value) {
  auto object = boost::json::parse(format_job_memory(full_report())).as_object();
  object[name] = std::move(value);
  return boost::json::serialize(object);
}

TEST(JobMemory, other_texts_are_malformed) {
  for (const char* text : {"", "x", "[]", "{}", "null", R"({"version":1})", R"({"version":2,"findings":[]})"})
    EXPECT_FALSE(parse(text)) << text;
  EXPECT_FALSE(parse(with("version", 2)));
  EXPECT_FALSE(parse(with("surprise", 1)));
  EXPECT_FALSE(parse(with("findings", boost::json::array{1})));
  EXPECT_FALSE(parse(with("done", boost::json::object{})));
  EXPECT_FALSE(parse(with("mutedUntil", "tomorrow")));
  EXPECT_FALSE(parse(with("surplus", repeated('s', kMaxMemoryBytes))));
}

TEST(JobMemory, hostile_members_are_malformed) {
  const auto object = boost::json::parse(format_job_memory(full_report())).as_object();
  const auto change = [&](std::string_view list, std::string_view name, boost::json::value value) {
    boost::json::object changed = object;
    changed[list].as_array().at(0).as_object()[name] = std::move(value);
    return boost::json::serialize(changed);
  };
  EXPECT_FALSE(parse(change("findings", "job", "ml/other")));
  EXPECT_FALSE(parse(change("findings", "id", "")));
  EXPECT_FALSE(parse(change("findings", "id", repeated('a', 65))));
  EXPECT_FALSE(parse(change("findings", "id", "ffeeddccbbaa9988"))) << "two of one id";
  EXPECT_FALSE(parse(change("findings", "summary", repeated('a', 1025))));
  EXPECT_FALSE(parse(change("findings", "probability", 1e9)));
  EXPECT_FALSE(parse(change("findings", "effect", "explosion")));
  EXPECT_FALSE(parse(change("sent", "finding", "another")));
  EXPECT_FALSE(parse(change("feedback", "note", repeated('a', 1025))));
  EXPECT_FALSE(parse(change("acknowledged", "by", repeated('a', 254))));
  EXPECT_FALSE(parse(change("done", "choice", "format_disks")));
  EXPECT_FALSE(parse(change("done", "part", "given_up")));
  boost::json::array many(jobs::JobReport::kMaxDone + 1, object.at("done").as_array().at(0));
  EXPECT_FALSE(parse(with("done", many)));
}

TEST(JobMemory, times_of_the_future_are_limited) {
  const WallTime now = kJobTime - std::chrono::hours(24 * 60);
  const auto read = parse(format_job_memory(full_report()), now);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->done.at(0).time, now);
  EXPECT_EQ(read->sent.begin()->second.last, now);
  EXPECT_EQ(read->findings.at(0).onset, now);
  EXPECT_EQ(read->muted_until, now + std::chrono::hours(24 * 30));
}

}  // namespace
}  // namespace autopilot::controller::job_memory_test
