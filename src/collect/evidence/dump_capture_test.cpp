// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/dump_capture.hpp"

#include <chrono>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "host/files/fd.hpp"
#include "host/files/files.hpp"
#include "host/process/processes.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::dump_capture_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

std::string dump(const std::string& version = "2.4") {
  return R"({"version":")" + version +
         R"(","pg_config":{"0":{"name":"0","desc":"dp","ranks":"[0, 1]"}},"entries":[{"process_group":["0","dp"],)"
         R"("collective_seq_id":7,"profiling_name":"nccl:all_reduce","state":"started"}]})";
}

class DumpCaptureTest : public ::testing::Test {
 protected:
  // This process as several ranks.
  void add_rank(int rank) {
    RankProcess& process = processes_.emplace_back();
    process.pid = ::getpid();
    process.started_ticks =
        host::parse_task_state(host::Files().read("/proc/self/stat").value())->started_ticks;
    process.rank = rank;
  }
  void add_pipe(int rank) {
    const std::string path = folder_ / ("pipe_" + std::to_string(rank) + ".pipe");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    pipes_.emplace_back(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  }
  void write_dump(int rank, const std::string& text) {
    folder_.write("/trace_" + std::to_string(rank), text);
  }
  // Calls `between` after the request.
  template <class Between>
  EvidenceIndex capture(Duration patience, const Between& between) {
    auto evidence = store_.begin("f-1", "ml/a", {}).value();
    DumpCapture capture(environment_of_, processes_, runner_, evidence);
    capture.ask(20s);
    between();
    capture.copy(patience);
    return evidence.finish().value();
  }
  EvidenceIndex capture() {
    return capture(0s, [] {});
  }
  [[nodiscard]] std::string summary() const { return read("flight_recorder_summary.txt"); }
  [[nodiscard]] std::string read(const std::string& file) const {
    return store_.read("f-1", file).value_or("not captured");
  }

  const host::TestFolder folder_;
  EvidenceStore store_ = EvidenceStore::open(folder_ / "evidence").value();
  const EnvironmentOf environment_of_ = [this](const RankProcess&) {
    return RankEnvironment{.dump_prefix = folder_ / "trace_", .trigger_prefix = folder_ / "pipe_"};
  };
  std::vector<RankProcess> processes_;
  std::vector<host::Fd> pipes_;
  DeadlineRunner runner_;
};

TEST_F(DumpCaptureTest, a_dump_that_is_written_after_the_request_is_copied_and_summarised) {
  add_rank(0);
  add_pipe(0);
  write_dump(0, "the dump of an hour ago");
  const EvidenceIndex index = capture(20s, [this] { write_dump(0, dump()); });
  EXPECT_EQ(read("flight_recorder_rank_0"), dump());
  EXPECT_THAT(read("flight_recorder.txt"),
              HasSubstr("rank 0: asked for a dump through " + (folder_ / "pipe_0")));
  EXPECT_THAT(summary(), HasSubstr("rank 0: waits in collective 7 nccl:all_reduce (started)"));
  EXPECT_EQ(index.items.back().name, "flight_recorder_summary");
  EXPECT_EQ(index.items.back().problem, "");
}

TEST_F(DumpCaptureTest, an_earlier_dump_of_a_rank_without_a_pipe_is_copied_at_once) {
  add_rank(0);
  write_dump(0, dump());
  const EvidenceIndex index = capture();
  EXPECT_EQ(read("flight_recorder_rank_0"), dump());
  EXPECT_THAT(index.items.front().problem, HasSubstr("pipe_0.pipe"));
}

TEST_F(DumpCaptureTest, a_flight_recorder_that_does_not_write_is_stated) {
  add_rank(0);
  add_rank(1);
  add_pipe(0);
  add_pipe(1);
  write_dump(0, dump());
  const EvidenceIndex index = capture();
  EXPECT_THAT(index.items.back().problem, HasSubstr("written before the request: no new dump in time"));
  EXPECT_THAT(summary(), HasSubstr("rank 1: no dump: "));
}

// The path is the job's: otherwise it could name a file that only the agent can read.
TEST_F(DumpCaptureTest, a_file_that_is_not_a_dump_is_not_copied) {
  add_rank(0);
  write_dump(0, "root:$6$secret:19000:0:99999:7:::\n");
  const EvidenceIndex index = capture();
  EXPECT_EQ(read("flight_recorder_rank_0"), "not captured");
  EXPECT_THAT(index.items.back().problem, HasSubstr("not copied: pickle: "));
  EXPECT_THAT(summary(), Not(HasSubstr("secret")));
}

TEST_F(DumpCaptureTest, a_dump_of_another_user_is_summarised_and_not_copied) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file to another user";
  add_rank(0);
  write_dump(0, dump());
  ASSERT_EQ(::chown((folder_ / "trace_0").c_str(), 65534, 65534), 0);
  (void)capture();
  EXPECT_EQ(read("flight_recorder_rank_0"), "not captured");
  EXPECT_THAT(summary(), HasSubstr("not copied: the file belongs to another user than the process"));
  EXPECT_THAT(summary(), HasSubstr("rank 0: waits in collective 7"));
}

TEST_F(DumpCaptureTest, a_pipe_in_place_of_a_dump_does_not_block) {
  add_rank(0);
  ASSERT_EQ(::mkfifo((folder_ / "trace_0").c_str(), 0600), 0);
  (void)capture();
  EXPECT_THAT(summary(), HasSubstr("not a regular file"));
  EXPECT_EQ(runner_.abandoned(), 0);
}

TEST_F(DumpCaptureTest, long_dumps_are_summarised_and_not_copied) {
  add_rank(0);
  write_dump(0, dump(std::string(DumpCapture::kMaxCopied, 'v')));
  (void)capture();
  EXPECT_EQ(read("flight_recorder_rank_0"), "not captured");
  EXPECT_THAT(summary(), HasSubstr("not copied: longer than"));
  EXPECT_THAT(summary(), HasSubstr("waits in collective 7"));
}

TEST_F(DumpCaptureTest, many_dumps_are_copied_until_the_limit) {
  for (int rank = 0; rank < 3; ++rank) {
    add_rank(rank);
    write_dump(rank, dump(std::string(DumpCapture::kMaxCopied - 1000, 'v')));
  }
  (void)capture();
  EXPECT_NE(read("flight_recorder_rank_1"), "not captured");
  EXPECT_EQ(read("flight_recorder_rank_2"), "not captured");
  EXPECT_THAT(summary(), HasSubstr("not copied: the dumps of other ranks fill the evidence"));
}

TEST_F(DumpCaptureTest, of_many_ranks_the_first_are_asked) {
  for (int rank = 0; rank <= static_cast<int>(DumpCapture::kMaxRanks); ++rank)
    add_rank(rank);
  add_pipe(0);
  (void)capture();
  EXPECT_THAT(summary(), HasSubstr("rank 31: no dump: "));
  EXPECT_THAT(summary(), Not(HasSubstr("rank 32")));
}

}  // namespace
}  // namespace autopilot::collect::dump_capture_test
