// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "core/parse.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::cli {
namespace {

struct JobsOutcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

JobsOutcome run_jobs(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"autopilot", "jobs"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& word : words)
    pointers.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  JobsOutcome outcome;
  outcome.exit_code = run(static_cast<int>(pointers.size()), pointers.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

// A job whose steps end every 10 s for ten minutes.
class JobsVerb : public testing::Test {
 protected:
  JobsVerb() {
    folder.write(
        "/jobs.jsonl",
        R"({"type":"format","t":1767225600,"format":"autopilot-job-telemetry","version":1,"simulated":true,"seed":7})"
        "\n"
        R"({"type":"node","t":1767225600,"node":"n"})"
        "\n"
        R"({"type":"job","t":1767225600,"job":"ml/llama","ranks":[{"rank":0,"node":"n","gpu":0}]})"
        "\n");
    std::string steps;
    for (int i = 0; i < 60; ++i)
      steps += R"({"type":"step","t":)" + std::to_string(1767225600 + i * 10) +
               R"(,"job":"ml/llama","step":)" + std::to_string(i) + "}\n";
    folder.write("/progress.jsonl", steps);
  }
  const host::TestFolder folder;
};

TEST_F(JobsVerb, a_replay_without_findings_shows_the_jobs_and_exits_with_0) {
  const auto outcome = run_jobs({"replay", folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("SIMULATED\n")) << outcome.out;
  EXPECT_NE(outcome.out.find("ml/llama"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("62 records of 9m50s; reports: 0 page, 0 ticket"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(JobsVerb, a_replay_as_json_is_one_object_a_line) {
  const auto outcome = run_jobs({"replay", folder.path(), "-o", "json", "--speed"});
  const auto lines = split(trim(outcome.out), '\n');
  ASSERT_GE(lines.size(), 3U) << outcome.out;
  const auto first = boost::json::parse(lines.front()).as_object();
  EXPECT_EQ(first.at("type"), "run");
  EXPECT_EQ(first.at("simulated"), true);
  EXPECT_EQ(boost::json::parse(lines[lines.size() - 2]).as_object().at("job"), "ml/llama");
  const auto last = boost::json::parse(lines.back()).as_object();
  EXPECT_EQ(last.at("type"), "end");
  EXPECT_EQ(last.at("records"), 62);
  EXPECT_EQ(last.at("end"), "2026-01-01T00:09:50.000Z");
  EXPECT_TRUE(last.contains("seconds"));
}

TEST_F(JobsVerb, the_first_malformed_lines_are_printed_and_all_are_counted) {
  std::string lines;
  for (int i = 0; i < 25; ++i)
    lines += "{\"type\":\"xid\"}\n";
  folder.write("/events.jsonl", lines);
  const auto outcome = run_jobs({"replay", folder.path()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.err.starts_with("autopilot: events.jsonl:1: t: missing\n")) << outcome.err;
  EXPECT_NE(outcome.err.find("events.jsonl:20: "), std::string::npos);
  EXPECT_EQ(outcome.err.find("events.jsonl:21: "), std::string::npos);
  EXPECT_NE(outcome.err.find("25 lines are malformed and left out; the first 20 are above"),
            std::string::npos)
      << outcome.err;
}

TEST_F(JobsVerb, a_score_counts_a_fault_that_was_not_found) {
  folder.write(
      "/labels.jsonl",
      R"({"type":"fault","t":1767225700,"end":1767225800,"id":"f1","class":"gpu_clock","effect":"none",)"
      R"("job":"ml/llama","node":"n","gpu":0})"
      "\n"
      R"({"type":"healthy","t":1767225600,"end":1767312000})"
      "\n");
  const auto outcome = run_jobs({"score", folder.path(), "-o", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto score = boost::json::parse(outcome.out).as_object();
  EXPECT_EQ(score.at("faults"), 1);
  EXPECT_EQ(score.at("recall").at("value"), 0.0);
  EXPECT_EQ(score.at("missed").at(0), "f1");
  EXPECT_EQ(score.at("nodeDays"), 1.0);
  const auto table = run_jobs({"score", folder.path()});
  EXPECT_NE(table.out.find("0 of 1 faults"), std::string::npos) << table.out;
  for (const auto line : split(table.out, '\n'))
    EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(JobsVerb, a_part_of_the_engine_can_be_left_out) {
  EXPECT_EQ(run_jobs({"replay", folder.path(), "--without", "roles", "--without", "fusion"}).exit_code, 0);
  EXPECT_EQ(run_jobs({"replay", folder.path(), "--without", "steps"}).exit_code, kExitUsage);
}

TEST_F(JobsVerb, a_folder_that_cannot_be_read_is_an_error) {
  const auto none = run_jobs({"replay", folder / "none"});
  EXPECT_EQ(none.exit_code, kExitInternal);
  EXPECT_EQ(none.err, "autopilot: no folder " + (folder / "none") + "\n");
  const auto unlabelled = run_jobs({"score", folder.path()});
  EXPECT_EQ(unlabelled.exit_code, kExitInternal);
  EXPECT_NE(unlabelled.err.find("has no labels.jsonl"), std::string::npos);
  folder.write("/jobs.jsonl", "hello\n");
  EXPECT_EQ(run_jobs({"replay", folder.path()}).exit_code, kExitConfiguration);
}

}  // namespace
}  // namespace autopilot::cli
