// SPDX-License-Identifier: Apache-2.0
#include "cli/job_recording.hpp"

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "cli/job_folder.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::cli::job_recording_test {
namespace {

constexpr WallTime kTime{std::chrono::seconds{1767225600}};

api::JobFormat format() {
  return {.time = kTime, .format = "autopilot-job-telemetry", .version = 1, .source = "test"};
}

TEST(JobRecording, what_was_written_is_a_folder_that_replay_reads) {
  const host::TestFolder folder;
  const std::string path = folder.path() + "/recording";
  auto recording = JobRecording::create(path, format());
  ASSERT_TRUE(recording) << recording.error().what;
  const jobs::JobRecord job{.time = kTime, .job = "a", .ranks = {{.rank = 0, .node = "n0"}}};
  for (const jobs::Record& record :
       {jobs::Record(jobs::NodeRecord{.time = kTime, .node = "n0"}), jobs::Record(job),
        jobs::Record(jobs::StepRecord{.time = kTime + std::chrono::seconds(1), .job = "a", .step = 1}),
        jobs::Record(jobs::XidRecord{.time = kTime + std::chrono::seconds(2), .node = "n0", .xid = 79}),
        jobs::Record(jobs::WindowRecord{
            .time = kTime + std::chrono::seconds(10), .length = std::chrono::seconds(10), .node = "n0"})})
    ASSERT_TRUE(recording->add(api::to_line(record)));
  EXPECT_TRUE(recording->ended().empty());
  ASSERT_TRUE(recording->add(
      api::to_line(jobs::Record(jobs::JobEndRecord{.time = kTime + std::chrono::seconds(11), .job = "a"}))));
  EXPECT_EQ(recording->ended(), "a");
  EXPECT_EQ(recording->records(), 6U);

  auto read = JobFolder::open(path, [](const std::string& problem) { ADD_FAILURE() << problem; });
  ASSERT_TRUE(read) << read.error().what;
  int records = 0;
  while (const auto next = read->next().value())
    ++records;
  EXPECT_EQ(records, 6);
}

TEST(JobRecording, a_line_that_is_not_a_record_is_refused) {
  const host::TestFolder folder;
  auto recording = JobRecording::create(folder.path() + "/recording", format());
  ASSERT_TRUE(recording);
  for (const char* line : {"", "{}", "[]", R"({"type":"labels"})", R"({"type":"step","t":"soon"})"})
    EXPECT_EQ(recording->add(line).error().code, Errc::malformed) << line;
  EXPECT_EQ(recording->records(), 0U);
}

TEST(JobRecording, a_scrubbed_recording_has_no_names_and_still_knows_which_job_ended) {
  const host::TestFolder folder;
  const std::string path = folder.path() + "/recording";
  auto recording = JobRecording::create(path, format(), true);
  ASSERT_TRUE(recording);
  const jobs::JobRecord job{.time = kTime, .job = "ml/llama", .ranks = {{.rank = 0, .node = "gpu17"}}};
  ASSERT_TRUE(recording->add(api::to_line(jobs::Record(job))));
  ASSERT_TRUE(
      recording->add(api::to_line(jobs::Record(jobs::JobEndRecord{.time = kTime, .job = "ml/llama"}))));
  EXPECT_EQ(recording->ended(), "ml/llama");
  std::ifstream file(path + "/jobs.jsonl");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text.find("llama"), std::string::npos) << text;
  EXPECT_EQ(text.find("gpu17"), std::string::npos) << text;
  EXPECT_NE(text.find("namespace-1/pod-1"), std::string::npos) << text;
  EXPECT_TRUE(recording->scrubbed());
}

TEST(JobRecording, a_folder_with_files_is_not_overwritten) {
  const host::TestFolder folder;
  const std::string path = folder.path() + "/recording";
  ASSERT_TRUE(JobRecording::create(path, format()));
  EXPECT_EQ(JobRecording::create(path, format()).error().code, Errc::conflict);
}

}  // namespace
}  // namespace autopilot::cli::job_recording_test
