// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/last_words.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace autopilot::jobs {
namespace {

struct RealLine {
  std::string_view key;
  FailureKind kind;
  CauseStrength strength;
  std::string_view text;
};

// Lines from public reports of failed jobs, with names of machines and addresses replaced.
constexpr RealLine kRealLines[] = {
    {"collective_timeout", FailureKind::unclear, CauseStrength::consequence,
     "[rank4]:[E321 02:07:08.414640780 ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective "
     "operation "
     "timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168, "
     "Timeout(ms)=600000) ran for 600067 milliseconds before timing out."},
    {"collective_timeout", FailureKind::unclear, CauseStrength::consequence,
     "[rank3]:[E ProcessGroupNCCL.cpp:543] To avoid data inconsistency, we are taking the entire process "
     "down."},
    {"collective_timeout", FailureKind::unclear, CauseStrength::consequence,
     "[rank7]:[E1002 18:16:40.663182067 ProcessGroupNCCL.cpp:756] [Rank 7] Work WorkNCCL(SeqNum=2521, "
     "OpType=ALLREDUCE, NumelIn=160672064, Timeout(ms)=600000) timed out in blocking wait."},
    {"collective_timeout", FailureKind::unclear, CauseStrength::consequence,
     "[rank5]:[E626 16:48:25.440238649 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 5]  "
     "failure "
     "detected by watchdog at work sequence id: 120049 PG status: last enqueued work: 120051"},
    {"peer_ended", FailureKind::unclear, CauseStrength::consequence,
     "torch.distributed.DistBackendError: NCCL error in: "
     "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, "
     "remote process exited or there was a network error, NCCL version 2.21.5"},
    {"peer_ended", FailureKind::unclear, CauseStrength::consequence,
     "node-a [5] misc/socket.cc:46 NCCL WARN socketProgressOpt: Call to send to 10.0.0.149<52905> failed : "
     "Connection reset by peer"},
    {"peer_ended", FailureKind::unclear, CauseStrength::consequence,
     "node-a:3468:3905 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.0.0.236<54862> "
     "with "
     "status=12 opcode=0 len=0 vendor err 129 (Recv)"},
    {"peer_ended", FailureKind::unclear, CauseStrength::consequence,
     "[rank1]:[W1229 22:06:38.558655037 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=67, "
     "addr=[a]:36214, remote=[b]:43145): Broken pipe"},
    {"stopped", FailureKind::unclear, CauseStrength::consequence,
     "W0227 17:39:41.936000 293814 site-packages/torch/distributed/elastic/multiprocessing/api.py:766] "
     "Closing "
     "process 293866 via signal SIGTERM"},
    {"stopped", FailureKind::unclear, CauseStrength::consequence,
     "WARNING: torch.distributed.elastic.multiprocessing.api:Sending process 165 closing signal SIGTERM"},
    {"stopped", FailureKind::unclear, CauseStrength::consequence,
     "W0409 07:28:49.530000 1359 torch/distributed/elastic/agent/server/api.py:719] Received 15 death "
     "signal, "
     "shutting down workers"},
    {"cuda_out_of_memory", FailureKind::application, CauseStrength::specific,
     "2024-11-20 14:37:16 [rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 132.00 MiB. "
     "GPU 3 "
     "has a total capacity of 79.10 GiB of which 98.00 MiB is free."},
    {"cuda_out_of_memory", FailureKind::application, CauseStrength::specific,
     "cuda failed with error 2 out of memory. use CUDA_LAUNCH_BLOCKING=1 to get correct traceback."},
    {"not_a_number", FailureKind::application, CauseStrength::specific,
     "AssertionError: Rank 11: found NaN in local grad norm in backward pass before data-parallel "
     "communication "
     "collective. Device: 3"},
    {"not_a_number", FailureKind::application, CauseStrength::specific,
     "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 3 at iteration #3 invocation #2"},
    {"collective_mismatch", FailureKind::application, CauseStrength::specific,
     "node-a:39717:39717 [1] init.cu:1197 NCCL WARN Mismatched collective detected, please check your "
     "collective "
     "calls at and around rank 9."},
    {"shared_memory", FailureKind::application, CauseStrength::specific,
     "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory "
     "(shm)."},
    {"shared_memory", FailureKind::application, CauseStrength::specific,
     "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Bus error. It is possible that "
     "dataloader's "
     "workers are out of shared memory. Please try to raise your shared memory limit."},
    {"ecc_uncorrectable", FailureKind::hardware, CauseStrength::specific,
     "RuntimeError: CUDA error: uncorrectable ECC error encountered"},
    {"ecc_uncorrectable", FailureKind::hardware, CauseStrength::specific,
     "[E ProcessGroupNCCL.cpp:916] [Rank 1] NCCL watchdog thread terminated with exception: CUDA error: "
     "uncorrectable ECC error encountered"},
    {"gpu_lost", FailureKind::hardware, CauseStrength::specific,
     "Unable to determine the device handle for GPU0000:03:00.0: Unknown Error"},
    {"nic_error", FailureKind::hardware, CauseStrength::specific,
     "node-a:815:864 [0] transport/net_ib.cu:80 NCCL WARN NET/IB : Got async event : local catastrophic "
     "error"},
    {"nic_error", FailureKind::hardware, CauseStrength::specific,
     "NCCL WARN NET/IB : Got async event : port error"},
    {"launch_failure", FailureKind::unclear, CauseStrength::vague,
     "[rank1]:[E410 01:50:33.889423318 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 1] "
     "Process "
     "group watchdog thread terminated with exception: CUDA error: unspecified launch failure"},
    {"gpu_fabric", FailureKind::hardware, CauseStrength::specific,
     "[rank5]: RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error"},
    {"gpu_fabric", FailureKind::hardware, CauseStrength::specific,
     "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"},
    {"cuda_out_of_memory", FailureKind::application, CauseStrength::specific,
     "node-a:3063028:3066152 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'"},
    {"peer_ended", FailureKind::unclear, CauseStrength::consequence,
     "E external/xla/xla/tsl/distributed_runtime/coordination/coordination_service.cc:1170] "
     "/job:jax_worker/replica:0/task:0 has been set to ERROR in coordination service: UNAVAILABLE: Task "
     "/job:jax_worker/replica:0/task:0 heartbeat timeout."},
    {"collective_timeout", FailureKind::unclear, CauseStrength::consequence,
     "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: "
     "PjRT_Client_Connect."},
    {"peer_ended", FailureKind::unclear, CauseStrength::consequence,
     "RuntimeError: NCCL communicator was aborted on rank 2."},
    {"killed", FailureKind::unclear, CauseStrength::vague,
     "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 178) of "
     "binary"},
    {"storage_error", FailureKind::infrastructure, CauseStrength::specific,
     "[rank3]: OSError: [Errno 5] Input/output error: '/app/checkpoints'"},
    {"storage_error", FailureKind::infrastructure, CauseStrength::specific,
     "ERROR: megatron.core.dist_checkpointing.strategies.filesystem_async: Local process 0 encountered an "
     "error: "
     "[Errno 5] Input/output error"},
    {"storage_full", FailureKind::infrastructure, CauseStrength::specific,
     "OSError: [Errno 122] Disk quota exceeded"},
};

TEST(LastWords, real_lines_are_understood) {
  for (const RealLine& real : kRealLines) {
    const auto words = read_last_words(real.text);
    ASSERT_TRUE(words) << real.text;
    EXPECT_EQ(words->key, real.key) << real.text;
    EXPECT_EQ(words->kind, real.kind) << real.text;
    EXPECT_EQ(words->strength, real.strength) << real.text;
  }
}

TEST(LastWords, lines_of_healthy_jobs_state_nothing) {
  for (const std::string_view line :
       {"iteration 5426/250000 | learning rate: 2.999E-04 | loss scale: 1.0 | grad norm: nan | TFLOPs: 78.46 "
        "|",
        "NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
        "CUDA kernel errors might be asynchronously reported at some other API call.",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "W tensorflow/core/common_runtime/bfc_allocator.cc:242] Allocator (GPU_0_bfc) ran out of memory "
        "trying to "
        "allocate 0B with freed_by_count=0. The caller indicates that this is not a failure",
        "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0", "Saving checkpoint at 14 epochs", ""})
    EXPECT_FALSE(read_last_words(line)) << line;
}

TEST(LastWords, a_cause_counts_more_than_its_consequences_before_and_after_it) {
  const auto words = read_last_words(
      "Traceback (most recent call last):\n  File \"train.py\", line 12, in <module>\n"
      "node-a [5] NCCL WARN Call to recv failed : Connection reset by peer\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
      "[E ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective operation timeout: WorkNCCL\n");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->key, "cuda_out_of_memory");
}

TEST(LastWords, an_exception_of_a_lost_connection_is_a_consequence) {
  const auto words = read_last_words(
      "Traceback (most recent call last):\n  File \"train.py\", line 12, in <module>\n"
      "torch.distributed.DistBackendError: NCCL error\nncclRemoteError: A call failed possibly due to a "
      "network "
      "error or a remote process exiting prematurely.\n");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->strength, CauseStrength::consequence);
}

TEST(LastWords, an_own_exception_counts_though_a_connection_breaks_at_the_end) {
  const auto words = read_last_words(
      "Traceback (most recent call last):\n  File \"train.py\", line 12, in <module>\nKeyError: 'tokens'\n"
      "[c10d] sendBytes failed on SocketImpl(fd=67): Broken pipe\n");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->key, "traceback");
  EXPECT_EQ(
      read_last_words("Traceback (most recent call last):\n  File \"train.py\"\nBroken pipe\n")->strength,
      CauseStrength::consequence);
}

TEST(LastWords, an_exception_is_quoted_instead_of_its_trace) {
  const auto words = read_last_words(
      "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"train.py\", line 12\n"
      "[rank2]: ValueError: too many values to unpack (expected 2)\n");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->key, "traceback");
  EXPECT_EQ(words->line, "[rank2]: ValueError: too many values to unpack (expected 2)");
  EXPECT_EQ(words->rank, 2);
}

TEST(LastWords, any_bytes_are_accepted) {
  std::string bytes;
  for (int i = 0; i < 200'000; ++i)
    bytes.push_back(static_cast<char>(i * 37));
  (void)read_last_words(bytes);
  const auto words = read_last_words(bytes + "\nCUDA OUT OF MEMORY \x01\x1b[31m\xff");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->key, "cuda_out_of_memory");
  EXPECT_EQ(words->line.find('\x1b'), std::string::npos);
  EXPECT_LE(read_last_words("cuda out of memory" + std::string(5000, 'x'))->line.size(), 200U);
}

}  // namespace
}  // namespace autopilot::jobs
