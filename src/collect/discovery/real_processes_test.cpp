// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "collect/discovery/job_finder.hpp"
#include "host/process/child.hpp"
#include "tests/support/host/run_program.hpp"
#include "tests/support/host/test_folder.hpp"

// Processes of this machine, in namespaces of its kernel.
namespace autopilot::collect::real_processes_test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kSleep = "import time; time.sleep(60)";

// A rendezvous that no other process of this machine has.
std::string rendezvous() {
  return "finder-test-" + std::to_string(::getpid());
}

std::vector<std::string> rank_of(int rank, int world) {
  return {"RANK=" + std::to_string(rank),
          "WORLD_SIZE=" + std::to_string(world),
          "LOCAL_RANK=" + std::to_string(rank),
          "MASTER_ADDR=" + rendezvous(),
          "MASTER_PORT=29500",
          "SECRET=hunter2"};
}

class RealProcesses : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access(kPython, X_OK) != 0) GTEST_SKIP() << "needs " << kPython;
  }
  // The job of this test, searched until it has so many processes.
  std::optional<SeenJob> find(std::size_t processes) {
    std::optional<SeenJob> found;
    for (const MonoTime deadline = host::mono_now() + 20s; host::mono_now() < deadline;) {
      now_ += 10s;
      const auto seen = finder_.look({}, {}, now_);
      if (!seen) return std::nullopt;
      found.reset();
      for (const SeenJob& job : seen->jobs)
        if (job.record.job.ends_with(rendezvous() + ":29500")) found = job;
      if ((found ? found->processes.size() : 0) == processes) return found;
      std::this_thread::yield();
    }
    return found;
  }

  host::Files files_;
  JobFinder finder_{files_, "this"};
  WallTime now_{std::chrono::seconds(1'800'000'000)};
};

TEST_F(RealProcesses, are_ranks_until_they_end) {
  {
    std::vector<host::Child> children;
    for (int rank = 0; rank < 4; ++rank) {
      auto child = host::Child::start(
          {.program = kPython, .arguments = {"-c", kSleep}, .environment = rank_of(rank, 4)}, {});
      ASSERT_TRUE(child) << child.error().what;
      children.push_back(*std::move(child));
    }
    const auto job = find(4);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->world, 4);
    EXPECT_FALSE(job->record.has_local_ranks);
    ASSERT_THAT(job->processes, SizeIs(4));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(job->processes[rank].rank, static_cast<int>(rank));
      EXPECT_EQ(job->processes[rank].pid, children[rank].pid());
    }
    EXPECT_THAT(finder_.take_ended(), IsEmpty());
  }
  EXPECT_FALSE(find(0));
  const auto ended = finder_.take_ended();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_THAT(ended[0].job, ::testing::EndsWith(rendezvous() + ":29500"));
}

TEST_F(RealProcesses, in_a_namespace_of_their_own_have_another_network_and_pid) {
  const std::vector<std::string> unshare{"unshare", "--user", "--map-root-user", "--net",
                                         "--pid",   "--fork", "--kill-child"};
  std::vector<std::string> probe = unshare;
  probe.push_back("/bin/true");
  if (const std::string problem = host::run_program(probe); !problem.empty())
    GTEST_SKIP() << "needs namespaces: " << problem;
  std::vector<std::string> arguments(unshare.begin() + 1, unshare.end());
  arguments.insert(arguments.end(), {kPython, "-c", kSleep});
  auto child = host::Child::start(
      {.program = "/usr/bin/unshare", .arguments = arguments, .environment = rank_of(0, 1)}, {});
  ASSERT_TRUE(child) << child.error().what;
  const auto job = find(1);
  ASSERT_TRUE(job);
  ASSERT_THAT(job->processes, SizeIs(1));
  const RankProcess& rank = job->processes[0];
  EXPECT_NE(rank.pid, child->pid()) << "unshare itself is not the rank";
  EXPECT_EQ(rank.inner_pid, 1);
  const auto own = files_.resolve("/proc/self/ns/net");
  ASSERT_TRUE(own);
  EXPECT_GT(rank.network_namespace, 0U);
  EXPECT_NE("net:[" + std::to_string(rank.network_namespace) + "]", *own);
}

TEST_F(RealProcesses, of_a_launcher_are_ranks_with_their_data_loaders) {
  const host::TestFolder folder;
  folder.write("/torchrun", std::string("#!") + kPython + R"py(
import os, subprocess, sys
loader = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
for rank in range(2):
    ranks = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2")
    last = subprocess.Popen([sys.executable, "-c", loader], env=ranks)
last.wait()
)py");
  std::filesystem::permissions(folder / "torchrun", std::filesystem::perms::owner_all);
  const auto launcher = host::Child::start(
      {.program = folder / "torchrun",
       .arguments = {},
       .environment = {"MASTER_ADDR=" + rendezvous(), "MASTER_PORT=29500", "RANK=0", "WORLD_SIZE=1"}},
      {});
  ASSERT_TRUE(launcher) << launcher.error().what;
  std::optional<SeenJob> job;
  for (const MonoTime deadline = host::mono_now() + 20s; host::mono_now() < deadline;) {
    job = find(2);
    if (job && job->processes.size() == 2 && job->processes[0].children.size() == 1 &&
        job->processes[1].children.size() == 1)
      break;
  }
  ASSERT_TRUE(job);
  ASSERT_THAT(job->processes, SizeIs(2));
  EXPECT_EQ(job->world, 2);
  EXPECT_THAT(job->processes[0].children, SizeIs(1));
  EXPECT_NE(job->processes[0].pid, launcher->pid());
}

}  // namespace
}  // namespace autopilot::collect::real_processes_test
