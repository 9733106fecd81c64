// SPDX-License-Identifier: Apache-2.0
#include "collect/ras/ras_source.hpp"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "host/files/fd.hpp"
#include "jobs/detectors/collectives.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/fake_ras.hpp"
#include "tests/support/host/ras_samples.hpp"

namespace autopilot::collect::ras_source_test {
namespace {

using namespace std::chrono_literals;
using host::FakeRas;
using host::sample_json;
using host::SampleCommunicator;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kStart{1'800'000'000s};

SeenJobs jobs_of(const FakeRas& ras, int rank = 0) {
  SeenJob job;
  job.record.job = "ml/llama";
  job.world = 2;
  job.processes.push_back({.pid = ras.pid(),
                           .started_ticks = ras.started_ticks(),
                           .rank = rank,
                           .gpus = {0},
                           .children = {},
                           .network_namespace = 4026531840,
                           .pod_uid = {}});
  SeenJobs seen;
  seen.jobs.push_back(job);
  return seen;
}

std::string counts(const FakeRas& ras, std::int64_t first, std::int64_t second) {
  return sample_json({{.size = 2, .ranks = {{0, ras.pid(), first}, {1, 99, second, "10.0.0.2"}}}});
}

EnvironmentOf at_port_of(const FakeRas& ras) {
  return [address = "localhost:" + std::to_string(ras.port())](const RankProcess&) {
    return RankEnvironment{.ras_address = address};
  };
}

AskRas directly() {
  return [](const host::RasTarget& target, MonoTime deadline) {
    return host::query_ras(target.address, deadline);
  };
}

// Polls at one time of the job's clock until the worker has replied.
std::vector<jobs::Record> poll_until_reply(Source& source, const SeenJobs& jobs, WallTime now) {
  std::vector<jobs::Record> records;
  for (const MonoTime until = host::mono_now() + 20s; records.empty() && host::mono_now() < until;) {
    source.poll(jobs, now, records);
    std::this_thread::yield();
  }
  return records;
}

TEST(RasSource, reports_the_counts_of_each_rank) {
  const FakeRas ras("");
  ras.set_answer(counts(ras, 20, 18));
  RasSource source(directly(), at_port_of(ras), {.node = "gpu-001"});
  const auto records = poll_until_reply(source, jobs_of(ras), kStart);
  ASSERT_THAT(records, SizeIs(1));
  const auto& record = std::get<jobs::CollectivesRecord>(records.front());
  EXPECT_EQ(record.job, "ml/llama");
  EXPECT_EQ(record.source, jobs::CountSource::ras);
  ASSERT_THAT(record.communicators, SizeIs(1));
  EXPECT_THAT(record.communicators[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(record.communicators[0].started, ElementsAre(20, 18));
  EXPECT_THAT(source.not_seen(), IsEmpty());
}

TEST(RasSource, enters_the_network_namespace_of_the_rank) {
  const FakeRas ras("", {.has_own_network = true, .port = 28028});
  if (!ras.is_ready()) GTEST_SKIP() << "needs the permission to make a network namespace";
  ras.set_answer(counts(ras, 20, 20));
  host::RasAccess access(
      {.program = paths::fake("fake_helper"), .arguments = {"ras"}, .environment = host::own_environment()});
  RasSource source(
      [&access](const host::RasTarget& target, MonoTime deadline) { return access.ask(target, deadline); },
      [](const RankProcess&) { return RankEnvironment{}; }, {.node = "gpu-001"});
  const auto records = poll_until_reply(source, jobs_of(ras), kStart);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<jobs::CollectivesRecord>(records.front()));
}

// Counts the questions and answers at once. The reader of a source may ask once more after the end of a test.
class Asked {
 public:
  AskRas ask(Result<std::string> answer) {
    return [count = count_, answer](const host::RasTarget&, MonoTime) {
      ++*count;
      return answer;
    };
  }
  [[nodiscard]] int count() const { return *count_; }

 private:
  std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
};

EnvironmentOf no_environment() {
  return [](const RankProcess&) { return RankEnvironment{}; };
}

TEST(RasSource, asks_every_fifteen_seconds_and_every_five_while_counts_rest) {
  const FakeRas ras("");
  RasSource source(directly(), at_port_of(ras), {.node = "gpu-001"});
  const SeenJobs jobs = jobs_of(ras);
  WallTime now = kStart;
  for (int i = 0; i < 6; ++i, now += 15s) {
    ras.set_answer(counts(ras, 20 + i, 20 + i));
    ASSERT_THAT(poll_until_reply(source, jobs, now), SizeIs(1)) << i;
    std::vector<jobs::Record> records;
    source.poll(jobs, now + 14s, records);
    EXPECT_THAT(records, IsEmpty());
  }
  // The first two answers without growth are usual; then it is overdue.
  ASSERT_THAT(poll_until_reply(source, jobs, now), SizeIs(1));
  now += 15s;
  ASSERT_THAT(poll_until_reply(source, jobs, now), SizeIs(1));
  now += 5s;
  EXPECT_THAT(poll_until_reply(source, jobs, now), SizeIs(1));
  now += 5s;
  EXPECT_THAT(poll_until_reply(source, jobs, now), SizeIs(1));
}

TEST(RasSource, only_the_node_with_the_lowest_rank_asks) {
  const FakeRas ras("");
  Asked asked;
  RasSource source(asked.ask(counts(ras, 5, 5)), no_environment(), {.node = "gpu-002"});
  std::vector<jobs::Record> records;
  for (int i = 0; i < 60; ++i)
    source.poll(jobs_of(ras, 1), kStart + std::chrono::seconds(i), records);
  EXPECT_EQ(asked.count(), 0);
  // If no node knows the lowest rank, every node asks, each at its own time within the interval.
  SeenJobs unknown = jobs_of(ras, 1);
  unknown.jobs[0].world.reset();
  source.poll(unknown, kStart, records);
  EXPECT_THAT(poll_until_reply(source, unknown, kStart + 15s), SizeIs(1));
}

TEST(RasSource, complains_once_a_minute) {
  const FakeRas ras("");
  for (const auto& [code, status] : {std::pair{Errc::timed_out, jobs::AnswerStatus::timeout},
                                     {Errc::unavailable, jobs::AnswerStatus::refused},
                                     {Errc::malformed, jobs::AnswerStatus::malformed}}) {
    Asked asked;
    RasSource source(asked.ask(fail(code, "NCCL RAS at 127.0.0.1:28028: why")), no_environment(),
                     {.node = "n"});
    const SeenJobs jobs = jobs_of(ras);
    const auto first = poll_until_reply(source, jobs, kStart);
    ASSERT_THAT(first, SizeIs(1));
    EXPECT_EQ(std::get<jobs::AnswerRecord>(first.front()).status, status);
    EXPECT_THAT(source.not_seen(), ElementsAre(HasSubstr("127.0.0.1:28028: why")));
    std::vector<jobs::Record> records;
    for (const MonoTime until = host::mono_now() + 20s; asked.count() < 3 && host::mono_now() < until;)
      for (int second = 1; second < 59; ++second)
        source.poll(jobs, kStart + std::chrono::seconds(second), records);
    EXPECT_GE(asked.count(), 2);
    EXPECT_THAT(records, IsEmpty());
    EXPECT_THAT(poll_until_reply(source, jobs, kStart + 75s), SizeIs(1));
  }
}

TEST(RasSource, states_what_keeps_it_from_asking) {
  const FakeRas ras("");
  Asked asked;
  RankEnvironment environment{.is_ras_disabled = true};
  RasSource source(asked.ask(std::string()), [&](const RankProcess&) { return environment; }, {.node = "n"});
  std::vector<jobs::Record> records;
  source.poll(jobs_of(ras), kStart, records);
  EXPECT_THAT(source.not_seen(), ElementsAre(HasSubstr("remove NCCL_RAS_ENABLE=0")));
  environment = {.ras_address = "10.0.0.1:28028"};
  source.poll(jobs_of(ras), kStart + 15s, records);
  EXPECT_THAT(source.not_seen(), ElementsAre(HasSubstr("only loopback")));
  EXPECT_EQ(asked.count(), 0);
  source.poll({}, kStart + 16s, records);
  EXPECT_THAT(source.not_seen(), IsEmpty()) << "the job has ended";
}

TEST(RasSource, a_port_that_never_answers_does_not_block) {
  const FakeRas silent("", {.behaviour = FakeRas::Behaviour::never_answers});
  const MonoTime begin = host::mono_now();
  {
    RasSource source(directly(), at_port_of(silent), {.node = "n", .patience = 20s});
    std::vector<jobs::Record> records;
    for (int i = 0; i < 100; ++i)
      source.poll(jobs_of(silent), kStart + std::chrono::seconds(i), records);
    EXPECT_THAT(records, IsEmpty());
  }
  EXPECT_LT(host::mono_now() - begin, 10s);
}

// In a cluster where no node knows the lowest rank, all nodes report the same.
TEST(RasSource, equal_records_of_many_nodes_do_not_make_a_hang) {
  jobs::CollectiveTracker tracker;
  for (int second = 0; second < 300; ++second) {
    jobs::Communicator world{"w", 8, {0, 1, 2, 3, 4, 5, 6, 7}, {}, {}, {}, {}};
    world.started.assign(8, second / 15 * 30);
    tracker.add({kStart + std::chrono::seconds(second), "job", jobs::CountSource::ras, {world}});
    const auto status = tracker.status(kStart + std::chrono::seconds(second));
    EXPECT_NE(status.frozen, true) << second;
  }
}

}  // namespace
}  // namespace autopilot::collect::ras_source_test
