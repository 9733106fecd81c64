// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/dump_source.hpp"

#include <chrono>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>

#include "host/files/fd.hpp"
#include "host/files/files.hpp"
#include "host/process/processes.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::dump_source_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// This process as a rank.
SeenJobs own_job(int rank) {
  SeenJob job;
  job.record.job = "ml/llama";
  RankProcess process;
  process.pid = ::getpid();
  process.started_ticks =
      host::parse_task_state(host::Files().read("/proc/self/stat").value())->started_ticks;
  process.rank = rank;
  job.processes.push_back(process);
  SeenJobs seen;
  seen.jobs.push_back(job);
  return seen;
}

std::string dump(int enqueued) {
  return R"({"version":"2.4","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},)"
         R"("pg_status":{"0":{"last_enqueued_collective":)" +
         std::to_string(enqueued) + R"(,"last_completed_collective":4}}})";
}

// What it reports until it has searched everything that is there.
std::vector<jobs::Record> search(Source& source, const SeenJobs& jobs, bool expects_record) {
  std::vector<jobs::Record> records;
  WallTime now = std::chrono::system_clock::now() + 1h;  // the file has settled
  const MonoTime until = host::mono_now() + (expects_record ? 20s : 200ms);
  while (records.size() < 1 && host::mono_now() < until) {
    source.poll(jobs, now, records);
    now += 5s;
    std::this_thread::yield();
  }
  return records;
}

class DumpSourceTest : public ::testing::Test {
 protected:
  EnvironmentOf environment() {
    return [this](const RankProcess&) {
      return RankEnvironment{.dump_prefix = folder_ / "trace_", .has_flight_recorder = true};
    };
  }
  const host::TestFolder folder_;
};

TEST_F(DumpSourceTest, a_new_dump_is_reported_once) {
  DumpSource source(environment(), {});
  EXPECT_THAT(search(source, own_job(1), false), IsEmpty());
  folder_.write("/trace_1", dump(7));
  const auto records = search(source, own_job(1), true);
  ASSERT_THAT(records, SizeIs(1));
  const auto& record = std::get<jobs::CollectivesRecord>(records.front());
  EXPECT_EQ(record.source, jobs::CountSource::flight_recorder);
  ASSERT_THAT(record.communicators, SizeIs(1));
  EXPECT_EQ(record.communicators[0].id, "pg/0");
  EXPECT_EQ(record.communicators[0].size, 2);
  EXPECT_THAT(record.communicators[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(record.communicators[0].started, ElementsAre(std::nullopt, 7));
  EXPECT_THAT(record.communicators[0].completed, ElementsAre(std::nullopt, 4));
  EXPECT_THAT(search(source, own_job(1), false), IsEmpty());
  folder_.write("/trace_1", dump(1000));
  EXPECT_THAT(search(source, own_job(1), true), SizeIs(1));
}

TEST_F(DumpSourceTest, a_dump_of_an_earlier_attempt_is_not_reported) {
  folder_.write("/trace_0", dump(7));
  std::filesystem::last_write_time(folder_ / "trace_0", std::filesystem::file_time_type::clock::now() - 24h);
  DumpSource source(environment(), {});
  EXPECT_THAT(search(source, own_job(0), false), IsEmpty());
}

TEST_F(DumpSourceTest, a_dump_that_is_not_one_is_stated) {
  folder_.write("/trace_0", "cos\nsystem\n(S'id'\ntR.");
  DumpSource source(environment(), {});
  std::vector<jobs::Record> records;
  source.poll(own_job(0), std::chrono::system_clock::now() + 1h, records);
  std::vector<std::string> problems;
  for (const MonoTime until = host::mono_now() + 20s; problems.empty() && host::mono_now() < until;)
    problems = source.not_seen();
  EXPECT_THAT(problems, ElementsAre(HasSubstr("opcode GLOBAL")));
}

TEST_F(DumpSourceTest, a_pipe_is_not_opened) {
  ASSERT_EQ(::mkfifo((folder_ / "trace_0").c_str(), 0600), 0);
  DumpSource source(environment(), {});
  EXPECT_THAT(search(source, own_job(0), false), IsEmpty());
}

}  // namespace
}  // namespace autopilot::collect::dump_source_test
