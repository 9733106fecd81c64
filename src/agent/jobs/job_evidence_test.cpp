// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/job_evidence.hpp"

#include <chrono>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

#include "api/job_records.hpp"
#include "core/parse.hpp"
#include "host/files/files.hpp"
#include "host/process/processes.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::agent::job_evidence_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kPatience = 20s;
const std::vector<api::SuspectedJob> kSuspected{{"ml/a", "00c0ffee00c0ffee"}};

collect::SeenJobs seen_here() {
  const auto stat = host::Files().read("/proc/self/stat").value();
  collect::SeenJob job;
  job.record.job = "ml/a";
  job.processes.push_back(
      {.pid = ::getpid(), .started_ticks = host::parse_task_state(stat).value().started_ticks, .rank = 3});
  return {.time = {}, .jobs = {job}, .not_seen = {}};
}

collect::EvidenceSources sources() {
  return {.ask_ras = {},
          .environment_of = {},
          .host = {},
          .telemetry = {},
          .kernel_log = [](MonoTime) -> Result<std::string> { return std::string("the last words\n"); }};
}

template <class T>
Result<T> answer_of(std::future<Result<T>> future) {
  if (future.wait_for(kPatience) != std::future_status::ready) return fail(Errc::timed_out, "no answer");
  return future.get();
}

Result<api::EvidenceList> list(JobEvidence& evidence) {
  const auto answer = std::make_shared<std::promise<Result<api::EvidenceList>>>();
  evidence.list([answer](Result<api::EvidenceList> got) { answer->set_value(std::move(got)); });
  return answer_of(answer->get_future());
}

Result<std::string> read(JobEvidence& evidence, const std::string& id, const std::string& file,
                         std::size_t offset = 0) {
  const auto answer = std::make_shared<std::promise<Result<std::string>>>();
  evidence.read(id, file, offset, [answer](Result<std::string> got) { answer->set_value(std::move(got)); });
  return answer_of(answer->get_future());
}

// Looks as the runner does, until there is evidence.
std::vector<api::CapturedEvidence> captured(JobEvidence& evidence) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    evidence.look(kSuspected, seen_here(), {WallTime(1767225600s), MonoTime(1h)});
    if (auto found = list(evidence); found && !found->evidence.empty()) return found->evidence;
    std::this_thread::yield();
  }
  return {};
}

TEST(JobEvidence, a_job_that_hangs_is_captured_listed_and_read) {
  const host::TestFolder state;
  JobEvidence evidence(state / "jobs", sources());
  jobs::WindowRecord window{.time = WallTime(1767225600s), .length = 10s, .node = "n0"};
  window.columns = {{jobs::Metric::host_cpu, {0.5F}}};
  for (std::size_t i = 0; i <= JobEvidence::kMostWindows; ++i) {
    evidence.note({window});
    window.time += 10s;
  }
  const auto found = captured(evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "00c0ffee00c0ffee");
  EXPECT_EQ(found[0].job, "ml/a");
  EXPECT_THAT(found[0].items, SizeIs(6));
  EXPECT_EQ(read(evidence, found[0].id, "kernel_log.txt").value(), "the last words\n");
  EXPECT_EQ(read(evidence, found[0].id, "kernel_log.txt", 4).value(), "last words\n");
  const std::string telemetry = read(evidence, found[0].id, "telemetry.jsonl").value();
  const auto lines = split(trim(telemetry), '\n');
  ASSERT_THAT(lines, SizeIs(JobEvidence::kMostWindows)) << "the oldest of too many windows stays";
  for (const std::string_view line : lines)
    EXPECT_TRUE(api::parse_job_line(line, api::JobFile::telemetry)) << line;
  EXPECT_THAT(read(evidence, found[0].id, "processes.txt").value(), HasSubstr("rank 3"));
  EXPECT_EQ(read(evidence, found[0].id, "kernel_log.txt", 99).error().code, Errc::malformed);
  EXPECT_EQ(read(evidence, found[0].id, "../../secret").error().code, Errc::not_found);
  EXPECT_EQ(read(evidence, "../jobs", "index.json").error().code, Errc::not_found);
}

TEST(JobEvidence, nothing_is_captured_while_nothing_is_suspected) {
  const host::TestFolder state;
  JobEvidence evidence(state / "jobs", sources());
  evidence.look({}, seen_here(), {WallTime(1767225600s), MonoTime(1h)});
  const auto found = list(evidence);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->folder, state / "jobs/evidence");
  EXPECT_THAT(found->evidence, IsEmpty());
}

TEST(JobEvidence, a_folder_that_cannot_be_made_is_an_error_and_no_crash) {
  const host::TestFolder state;
  JobEvidence evidence(state / "missing/jobs", sources());
  evidence.look(kSuspected, seen_here(), {WallTime(1767225600s), MonoTime(1h)});
  EXPECT_FALSE(list(evidence));
  EXPECT_FALSE(read(evidence, "00c0ffee00c0ffee", "ras.txt"));
}

}  // namespace
}  // namespace autopilot::agent::job_evidence_test
