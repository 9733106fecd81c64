// SPDX-License-Identifier: Apache-2.0
#include "cli/job_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::cli {
namespace {

constexpr const char* kFormat = R"({"type":"format","t":100,"format":"autopilot-job-telemetry","version":1})"
                                "\n";

std::string beat(int second, const std::string& job = "j") {
  return R"({"type":"heartbeat","t":)" + std::to_string(second) + R"(,"job":")" + job + R"(","rank":0})" +
         "\n";
}

std::string node(int second) {
  return R"({"type":"node","t":)" + std::to_string(second) + R"(,"node":"n"})" + "\n";
}

std::string xid(int second) {
  return R"({"type":"xid","t":)" + std::to_string(second) + R"(,"node":"n","xid":79})" + "\n";
}

struct Reading {
  std::vector<std::string> records;  // "node 100"
  std::vector<std::int64_t> reached;
  std::vector<std::string> problems;
  std::string error;
};

Reading read(const std::string& path) {
  Reading reading;
  auto folder =
      JobFolder::open(path, [&](const std::string& problem) { reading.problems.push_back(problem); });
  while (folder) {
    auto next = folder->next();
    if (!next) reading.error = next.error().what;
    if (!next || !*next) break;
    const auto& record = (*next)->record;
    const auto second = jobs::time_of(record).time_since_epoch() / std::chrono::seconds{1};
    const char* type = std::holds_alternative<jobs::NodeRecord>(record)  ? "node "
                       : std::holds_alternative<jobs::XidRecord>(record) ? "xid "
                                                                         : "beat ";
    reading.records.push_back(type + std::to_string(second));
    reading.reached.push_back((*next)->reached.time_since_epoch() / std::chrono::seconds{1});
  }
  if (!folder) reading.error = folder.error().what;
  return reading;
}

TEST(JobFolder, files_are_merged_by_time_with_jobs_first) {
  const host::TestFolder folder;
  folder.write("/jobs.jsonl", kFormat + node(100) + node(130));
  folder.write("/progress.jsonl", beat(90) + beat(100) + beat(130) + beat(140));
  folder.write("/events.jsonl", xid(130));
  const auto reading = read(folder.path());
  EXPECT_EQ(reading.records, (std::vector<std::string>{"beat 90", "node 100", "beat 100", "node 130",
                                                       "xid 130", "beat 130", "beat 140"}));
  EXPECT_TRUE(reading.problems.empty());
}

TEST(JobFolder, a_time_that_falls_within_a_file_keeps_its_place) {
  const host::TestFolder folder;
  folder.write("/jobs.jsonl", kFormat + node(100));
  folder.write("/progress.jsonl", beat(150) + beat(110) + beat(160));
  folder.write("/events.jsonl", xid(120) + xid(155));
  const auto reading = read(folder.path());
  EXPECT_EQ(reading.records,
            (std::vector<std::string>{"node 100", "xid 120", "beat 150", "beat 110", "xid 155", "beat 160"}));
  EXPECT_EQ(reading.reached, (std::vector<std::int64_t>{100, 120, 150, 150, 155, 160}));
}

TEST(JobFolder, malformed_lines_are_named_and_left_out) {
  const host::TestFolder folder;
  folder.write("/jobs.jsonl", kFormat + node(100) + "\n  \r\n" + "{\n" + node(110) + kFormat);
  folder.write("/progress.jsonl", beat(100) + R"({"type":"heartbeat","t":101,"job":"j","rank":-1})" + "\n" +
                                      std::string((1U << 20U) + 500, 'x') + "\n" + beat(102) +
                                      R"({"type":"heartb)");
  const auto reading = read(folder.path());
  EXPECT_EQ(reading.records, (std::vector<std::string>{"node 100", "beat 100", "beat 102", "node 110"}));
  EXPECT_EQ(reading.error, "");
  ASSERT_EQ(reading.problems.size(), 5U);
  EXPECT_NE(std::ranges::find(reading.problems, "jobs.jsonl:5: not JSON: the line ends within a value"),
            reading.problems.end());
  EXPECT_NE(std::ranges::find(reading.problems, "progress.jsonl:2: rank: -1 is below 0"),
            reading.problems.end());
  EXPECT_NE(std::ranges::find(reading.problems, "progress.jsonl:3: longer than 1048576 bytes"),
            reading.problems.end());
  EXPECT_NE(std::ranges::find(
                reading.problems,
                "progress.jsonl:5: truncated last line: type: not JSON: the line ends within a value"),
            reading.problems.end());
}

TEST(JobFolder, a_last_line_without_a_line_end_counts) {
  const host::TestFolder folder;
  std::string text = kFormat + node(100);
  text.pop_back();
  folder.write("/jobs.jsonl", text);
  EXPECT_EQ(read(folder.path()).records, std::vector<std::string>{"node 100"});
}

TEST(JobFolder, a_time_of_another_year_does_not_stop_the_others) {
  const host::TestFolder folder;
  folder.write("/jobs.jsonl", kFormat + node(100'000'000));
  folder.write("/progress.jsonl", beat(0) + beat(100'000'000) + beat(2'000'000'000) + beat(100'000'010));
  const auto reading = read(folder.path());
  EXPECT_EQ(reading.records,
            (std::vector<std::string>{"node 100000000", "beat 100000000", "beat 100000010"}));
  ASSERT_EQ(reading.problems.size(), 2U);
  EXPECT_EQ(reading.problems[0], "progress.jsonl:1: t: more than 31 days from the line before");
}

TEST(JobFolder, what_cannot_be_read_is_an_error_with_the_next_step) {
  const host::TestFolder folder;
  EXPECT_EQ(read(folder / "none").error, "no folder " + (folder / "none"));
  EXPECT_EQ(read(folder.path()).error,
            folder.path() + " has no jobs.jsonl; docs/reference/job-telemetry.md describes it");
  folder.write("/jobs.jsonl.gz", "\x1f\x8b");
  EXPECT_EQ(read(folder.path()).error,
            folder / "jobs.jsonl.gz is compressed; unpack it first: gunzip " + (folder / "jobs.jsonl.gz"));
  folder.write("/jobs.jsonl", "\x1f\x8b\x08 compressed under the plain name");
  EXPECT_EQ(read(folder.path()).error,
            folder / "jobs.jsonl is compressed; unpack it first, with gunzip or unzstd");
  folder.write("/jobs.jsonl", "");
  EXPECT_EQ(read(folder.path()).error, "jobs.jsonl is empty; its first line names the format");
  folder.write("/jobs.jsonl", node(100));
  EXPECT_EQ(read(folder.path()).error, "jobs.jsonl:1: the first line must be of type format");
  folder.write("/jobs.jsonl", "{\"type\":\"format\",\"version\":2}\n");
  EXPECT_EQ(
      read(folder.path()).error,
      "jobs.jsonl:1: version 2 of the format; this program reads version 1. Update autopilot, or write the "
      "folder in version 1");
  folder.write("/jobs.jsonl", kFormat);
  EXPECT_EQ(read(folder.path()).error, "");
  std::filesystem::create_directory(folder / "events.jsonl");
  EXPECT_EQ(read(folder.path()).error, folder / "events.jsonl is a folder, not a file");
}

TEST(JobFolder, labels_are_read_apart_from_the_records) {
  const host::TestFolder folder;
  EXPECT_FALSE(read_labels(folder.path(), [](const std::string&) {}));
  folder.write("/labels.jsonl",
               R"({"type":"fault","t":1,"end":9,"id":"f","class":"c","effect":"slow","node":"n"})"
               "\n"
               R"({"type":"confounder","t":1,"end":9,"class":"checkpoint"})"
               "\n"
               R"({"type":"healthy","t":0,"end":50})"
               "\n" +
                   node(1));
  std::vector<std::string> problems;
  const auto labels =
      read_labels(folder.path(), [&](const std::string& problem) { problems.push_back(problem); });
  ASSERT_TRUE(labels) << labels.error().what;
  EXPECT_EQ(labels->faults.size(), 1U);
  EXPECT_EQ(labels->confounders.size(), 1U);
  EXPECT_EQ(labels->end, WallTime{std::chrono::seconds(50)});
  EXPECT_EQ(problems,
            std::vector<std::string>{
                "labels.jsonl:4: type: a line of type node belongs in jobs.jsonl, not in labels.jsonl"});
}

}  // namespace
}  // namespace autopilot::cli
