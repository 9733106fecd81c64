// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/failure.hpp"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::jobs {
namespace {

using namespace std::chrono_literals;

const WallTime kFailureEnd{std::chrono::seconds(1767225600)};

constexpr const char* kWaitedLine =
    "[E ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1580, "
    "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600067 milliseconds before timing out.";
constexpr const char* kPeerLine =
    "node [5] misc/socket.cc:46 NCCL WARN socketProgressOpt: Call to recv from 10.0.0.9<52905> failed : "
    "Connection "
    "reset by peer";

// Eight ranks, four on each of two nodes.
struct FailedJob {
  JobRecord job;
  std::vector<ExitRecord> exits;
  std::vector<LogRecord> logs;
  std::vector<PodRecord> pods;
  std::optional<Event> root;
  bool has_node_events = true;

  FailedJob() {
    for (int rank = 0; rank < 8; ++rank) {
      RankRecord& record = job.ranks.emplace_back();
      record.rank = rank;
      record.node = rank < 4 ? "a" : "b";
      record.gpu = rank % 4;
    }
  }
  void exit(int rank, Duration after, std::optional<int> code, std::optional<int> signal = {},
            bool oom = false) {
    exits.push_back({kFailureEnd + after, "job", rank, code, signal, oom});
  }
  void log(int rank, Duration after, std::string text) {
    logs.push_back({kFailureEnd + after, "job", rank, std::move(text)});
  }
  void others_follow(int rank, const char* line, Duration after = 1s) {
    for (int other = 0; other < 8; ++other) {
      if (other == rank) continue;
      log(other, after, line);
      exit(other, after + 1s, 1);
    }
  }
  void event(Duration after, int gpu, const std::string& node, int xid) {
    EventMemory memory;
    memory.add(XidRecord{kFailureEnd + after, node, gpu, xid, ""});
    root = memory.root_of(kFailureEnd, job);
  }
  [[nodiscard]] Failure explain() const {
    FailureInputs inputs;
    inputs.job = &job;
    inputs.end = kFailureEnd;
    inputs.exits = exits;
    inputs.logs = logs;
    inputs.pods = pods;
    inputs.root = root;
    inputs.has_node_events = has_node_events;
    return explain_failure(inputs);
  }
};

TEST(ExplainFailure, one_rank_out_of_memory_ends_the_others) {
  FailedJob failed;
  failed.log(5, 10s, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.");
  failed.exit(5, 12s, 1);
  failed.others_follow(5, kPeerLine, 0s);  // their logs arrive first
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::application);
  EXPECT_EQ(failure.cause, "cuda_out_of_memory");
  EXPECT_EQ(failure.rank, 5);
  EXPECT_EQ(failure.node, "b");
  EXPECT_EQ(failure.gpu, 1);
  EXPECT_EQ(failure.culprit.kind, EntityKind::program);
  EXPECT_FALSE(failure.culprit.is_accused());
  EXPECT_EQ(failure.consequences, (std::vector<int>{0, 1, 2, 3, 4, 6, 7}));
  EXPECT_EQ(failure.evidence.front().signal, "cuda_out_of_memory");
  EXPECT_LE(failure.evidence.size(), Failure::kMaxEvidence);
}

TEST(ExplainFailure, an_xid_before_the_timeouts_accuses_the_gpu) {
  FailedJob failed;
  failed.event(-9min, 2, "b", 79);
  failed.others_follow(6, kWaitedLine);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::hardware);
  EXPECT_EQ(failure.cause, "xid_79");
  EXPECT_EQ(to_string(failure.culprit), "GPU 2 of b");
}

TEST(ExplainFailure, an_xid_that_the_kernel_logs_after_the_program_noticed_is_the_cause) {
  FailedJob failed;
  failed.log(6, 0s, "RuntimeError: CUDA error: an illegal memory access was encountered");
  failed.event(20s, 2, "b", 95);
  EXPECT_EQ(failed.explain().kind, FailureKind::hardware);
  failed.event(20s, 2, "a", 95);  // another node, later: the program was first
  EXPECT_EQ(failed.explain().kind, FailureKind::application);
}

TEST(ExplainFailure, a_memory_error_in_the_log_accuses_the_gpu_without_any_event) {
  FailedJob failed;
  failed.has_node_events = false;
  failed.log(3, 0s, "RuntimeError: CUDA error: uncorrectable ECC error encountered");
  failed.others_follow(3, kPeerLine);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::hardware);
  EXPECT_EQ(to_string(failure.culprit), "GPU 3 of a");
  EXPECT_EQ(failure.not_available, std::vector<std::string>{"Xids and findings of nodes"});
}

TEST(ExplainFailure, a_link_that_is_down_does_not_explain_a_rank_that_names_its_cause) {
  FailedJob failed;
  EventMemory memory;
  memory.add(LinkRecord{kFailureEnd - 2min, "a", "mlx5_0", false});
  failed.root = memory.root_of(kFailureEnd, failed.job);
  failed.log(5, 0s, "OSError: [Errno 28] No space left on device");
  EXPECT_EQ(failed.explain().cause, "storage_full");
  failed.logs.clear();
  failed.others_follow(-1, kWaitedLine);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::hardware);
  EXPECT_EQ(to_string(failure.culprit), "mlx5_0 of a");
}

TEST(ExplainFailure, a_lost_node_is_infrastructure_and_named) {
  FailedJob failed;
  EventMemory memory;
  memory.add(NodeStateRecord{kFailureEnd - 1min, "b", true});
  failed.root = memory.root_of(kFailureEnd, failed.job);
  failed.others_follow(6, kPeerLine);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::infrastructure);
  EXPECT_EQ(to_string(failure.culprit), "node b");
}

TEST(ExplainFailure, a_preempted_pod_is_not_a_fault_of_its_node) {
  FailedJob failed;
  failed.pods.push_back({kFailureEnd, "job", 2, PodReason::preempted});
  for (int rank = 0; rank < 8; ++rank)
    failed.exit(rank, 2s, std::nullopt, 15);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::infrastructure);
  EXPECT_EQ(failure.cause, "preempted");
  EXPECT_FALSE(failure.culprit.is_accused());
}

TEST(ExplainFailure, pods_deleted_after_a_failure_are_not_its_cause) {
  FailedJob failed;
  failed.log(5, 0s, "AssertionError: batch is empty");
  for (int rank = 0; rank < 8; ++rank)
    failed.pods.push_back({kFailureEnd + 30s, "job", rank, PodReason::deleted});
  EXPECT_EQ(failed.explain().cause, "assertion");
}

TEST(ExplainFailure, killed_for_memory_by_the_kernel) {
  FailedJob failed;
  failed.exit(4, 0s, 137, 9, true);
  failed.others_follow(4, kPeerLine);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::application);
  EXPECT_EQ(failure.cause, "host_out_of_memory");
  EXPECT_EQ(failure.rank, 4);
}

TEST(ExplainFailure, a_rank_that_is_killed_without_a_reason_is_where_it_began_and_no_more) {
  FailedJob failed;
  failed.exit(4, 0s, 137);
  failed.others_follow(4, kPeerLine);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::unclear);
  EXPECT_EQ(failure.cause, "killed");
  EXPECT_EQ(failure.rank, 4);
  EXPECT_FALSE(failure.culprit.is_accused());
}

TEST(ExplainFailure, the_rank_that_crashes_first_is_the_cause) {
  FailedJob failed;
  failed.exit(2, 0s, std::nullopt, 11);
  failed.exit(1, 5s, std::nullopt, 6);
  failed.exit(0, 6s, 1);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.rank, 2);
  EXPECT_EQ(failure.kind, FailureKind::application);
}

TEST(ExplainFailure, an_abort_of_the_watchdog_is_a_consequence) {
  FailedJob failed;
  for (int rank = 0; rank < 8; ++rank) {
    if (rank == 6) continue;
    failed.log(rank, 0s, kWaitedLine);
    failed.exit(rank, 1s, std::nullopt, 6);
  }
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::unclear);
  EXPECT_EQ(failure.cause, "silent_rank");  // rank 6 left no record
  EXPECT_EQ(failure.rank, 6);
  EXPECT_FALSE(failure.culprit.is_accused());
}

TEST(ExplainFailure, all_ranks_that_waited_accuse_nobody) {
  FailedJob failed;
  failed.others_follow(-1, kWaitedLine);
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::unclear);
  EXPECT_EQ(failure.cause, "collective_timeout");
  EXPECT_FALSE(failure.rank);
  EXPECT_TRUE(failure.node.empty());
  EXPECT_EQ(failure.consequences.size(), 8U);
}

TEST(ExplainFailure, a_shared_log_names_the_rank_in_its_prefix) {
  FailedJob failed;
  failed.log(0, 0s, "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 132.00 MiB.");
  EXPECT_EQ(failed.explain().rank, 3);
  failed.logs.clear();
  failed.log(0, 0s, "[rank300]: torch.OutOfMemoryError: CUDA out of memory.");  // the job has no such rank
  EXPECT_EQ(failed.explain().rank, 0);
}

TEST(ExplainFailure, without_records_nothing_is_stated) {
  FailedJob failed;
  failed.has_node_events = false;
  const Failure failure = failed.explain();
  EXPECT_EQ(failure.kind, FailureKind::unclear);
  EXPECT_EQ(failure.cause, "unknown");
  EXPECT_EQ(failure.not_available.size(), 3U);
  EXPECT_FALSE(failure.sentence.empty());
  EXPECT_EQ(explain_failure({}).kind, FailureKind::unclear);
}

TEST(ExplainFailure, unknown_ranks_and_clean_exits_are_ignored) {
  FailedJob failed;
  failed.exit(99, 0s, 1);
  failed.log(99, 0s, "CUDA out of memory");
  failed.pods.push_back({kFailureEnd, "job", 99, PodReason::evicted});
  failed.exit(1, 0s, 0);
  EXPECT_EQ(failed.explain().cause, "unknown");
}

TEST(ExplainFailure, a_last_loss_that_is_not_a_number_explains_an_unstated_end) {
  FailedJob failed;
  failed.exit(1, 0s, 1);
  FailureInputs inputs;
  inputs.job = &failed.job;
  inputs.end = kFailureEnd;
  inputs.exits = failed.exits;
  inputs.loss_is_nan = true;
  EXPECT_EQ(explain_failure(inputs).cause, "not_a_number");
}

TEST(ExplainFailure, logs_beyond_the_limit_are_not_read_and_stated) {
  FailedJob failed;
  for (std::size_t i = 0; i < kMaxLogsRead; ++i)
    failed.log(0, 0s, kPeerLine);
  failed.log(1, 1s, "CUDA out of memory");
  const Failure failure = failed.explain();
  EXPECT_NE(failure.cause, "cuda_out_of_memory");
  ASSERT_EQ(failure.not_available.size(), 2U);
  EXPECT_NE(failure.not_available[1].find("1 more"), std::string::npos);
}

TEST(ExplainFailure, the_order_of_records_does_not_matter) {
  FailedJob failed;
  failed.log(5, 0s, "AssertionError: a");
  failed.log(2, 0s, "AssertionError: b");
  failed.others_follow(5, kPeerLine);
  const Failure first = failed.explain();
  std::reverse(failed.logs.begin(), failed.logs.end());
  std::reverse(failed.exits.begin(), failed.exits.end());
  const Failure second = failed.explain();
  EXPECT_EQ(first.rank, 2);
  EXPECT_EQ(second.rank, 2);
  EXPECT_EQ(first.sentence, second.sentence);
}

}  // namespace
}  // namespace autopilot::jobs
