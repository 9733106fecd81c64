// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/capture.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "host/files/fd.hpp"
#include "host/files/files.hpp"
#include "host/process/processes.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/fake_ras.hpp"
#include "tests/support/host/ras_samples.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::capture_test {
namespace {

using namespace std::chrono_literals;
using host::FakeRas;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr WallTime kTime{1'800'000'000s};

host::TaskState state_of(std::int64_t pid) {
  return host::parse_task_state(host::Files().read("/proc/" + std::to_string(pid) + "/stat").value()).value();
}

RankProcess rank_of(std::int64_t pid, int rank) {
  RankProcess process;
  process.pid = pid;
  process.started_ticks = state_of(pid).started_ticks;
  process.rank = rank;
  process.network_namespace = 1;
  return process;
}

// A process in uninterruptible sleep, as one that waits for a sick driver: the parent of a vfork.
class BlockedProcess {
 public:
  BlockedProcess() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      block(ends[1]);
    }
    ::close(ends[1]);
    char ready = 0;
    is_blocked_ = ::read(ends[0], &ready, 1) == 1;
    ::close(ends[0]);
    for (const MonoTime until = host::mono_now() + 2s;
         state_of(pid_).state != 'D' && host::mono_now() < until;)
      std::this_thread::yield();
    is_blocked_ = is_blocked_ && state_of(pid_).state == 'D';
  }
  BlockedProcess(const BlockedProcess&) = delete;
  BlockedProcess& operator=(const BlockedProcess&) = delete;
  ~BlockedProcess() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_blocked() const { return is_blocked_; }

 private:
  [[noreturn]] static void block(int ready) {
    static std::array<char, 65536> stack;
    (void)::clone(
        [](void* end) -> int {
          if (::write(*static_cast<int*>(end), "r", 1) != 1) ::_exit(1);
          while (true)
            ::pause();
        },
        stack.data() + stack.size(), CLONE_VFORK | SIGCHLD, &ready);
    ::_exit(0);
  }
  pid_t pid_ = -1;
  bool is_blocked_ = false;
};

const EvidenceItem* item(const EvidenceIndex& index, const std::string& name) {
  const auto found = std::ranges::find(index.items, name, &EvidenceItem::name);
  return found == index.items.end() ? nullptr : &*found;
}

class Evidence : public ::testing::Test {
 protected:
  [[nodiscard]] EvidenceRequest request(const std::string& finding,
                                        std::vector<RankProcess> processes) const {
    return {.finding = finding, .job = "ml/llama", .time = kTime, .processes = std::move(processes)};
  }
  [[nodiscard]] EvidenceIndex capture(const EvidenceRequest& wanted,
                                      const EvidenceDeadlines& deadlines = {}) {
    auto index = capture_evidence(store_, sources_, wanted, runner_, deadlines);
    EXPECT_TRUE(index) << index.error().what;
    return index ? *index : EvidenceIndex{};
  }

  const host::TestFolder folder_;
  EvidenceStore store_ = EvidenceStore::open(folder_ / "evidence").value();
  EvidenceSources sources_;
  DeadlineRunner runner_;
};

TEST_F(Evidence, everything_that_is_there_is_captured_in_order) {
  const FakeRas ras(host::sample_json({{.size = 1, .ranks = {{0, 1, 5}}}}));
  ASSERT_EQ(::mkfifo((folder_ / "pipe_3.pipe").c_str(), 0600), 0);
  const host::Fd pipe(::open((folder_ / "pipe_3.pipe").c_str(), O_RDONLY | O_NONBLOCK));
  sources_ = {.ask_ras = [](const host::RasTarget& target,
                            MonoTime deadline) { return host::query_ras(target.address, deadline); },
              .environment_of =
                  [&](const RankProcess&) {
                    return RankEnvironment{.ras_address = "localhost:" + std::to_string(ras.port()),
                                           .dump_prefix = folder_ / "trace_",
                                           .trigger_prefix = folder_ / "pipe_"};
                  },
              .host = fakes::EmptyHost::share(std::make_shared<fakes::EmptyHost>()),
              .telemetry = [](MonoTime) { return "{}\n"; },
              .kernel_log = [](MonoTime) { return "NVRM: Xid 79\n"; }};
  // The flight recorder of rank 3.
  std::thread recorder([&] {
    pollfd ready{.fd = pipe.get(), .events = POLLIN, .revents = 0};
    if (host::poll_until({&ready, 1}, host::mono_now() + 20s)) folder_.write("/trace_3", R"({"entries":[]})");
  });
  const EvidenceIndex index =
      capture(request("f-1", {rank_of(ras.pid(), 3)}), {.counters = {.apart = 1ms}, .dumps = 20s});
  recorder.join();
  std::vector<std::string> names;
  for (const EvidenceItem& one : index.items) {
    names.push_back(one.name);
    // The machine has no driver.
    if (one.name != "counters") EXPECT_EQ(one.problem, "") << one.name;
    EXPECT_GT(one.bytes, 0U) << one.name;
  }
  EXPECT_THAT(names, ElementsAre("ras", "flight_recorder", "processes", "counters", "telemetry", "kernel_log",
                                 "flight_recorder_dump", "flight_recorder_summary"));
  EXPECT_THAT(store_.read("f-1", "ras-rank3.txt").value(), HasSubstr("collective_counts"));
  EXPECT_EQ(store_.read("f-1", "kernel_log.txt").value(), "NVRM: Xid 79\n");
  EXPECT_THAT(store_.read("f-1", "processes.txt").value(), HasSubstr("rank 3, process "));
  char byte = 0;
  EXPECT_EQ(::read(pipe.get(), &byte, 1), 1) << "the flight recorder was asked";
  EXPECT_EQ(store_.read("f-1", "index.json").error().code, Errc::not_found) << "it does not name itself";
}

TEST_F(Evidence, a_process_that_hangs_in_the_kernel_is_described) {
  const BlockedProcess blocked;
  if (!blocked.is_blocked()) GTEST_SKIP() << "needs a process in state D, which a sanitizer may prevent";
  const EvidenceIndex index = capture(request("f-1", {rank_of(blocked.pid(), 0)}));
  const std::string text = store_.read("f-1", "processes.txt").value();
  EXPECT_THAT(text, HasSubstr("State:\tD"));
  EXPECT_THAT(text, HasSubstr("-- wchan\n"));
  EXPECT_THAT(text, HasSubstr("-- stack\n"));
}

TEST_F(Evidence, what_is_missing_is_stated) {
  RankProcess gone = rank_of(::getpid(), 0);
  ++gone.started_ticks;
  const EvidenceIndex index = capture(request("f-1", {gone}));
  ASSERT_THAT(index.items, SizeIs(6));
  for (const EvidenceItem& one : index.items)
    EXPECT_THAT(one.problem, Not(IsEmpty())) << one.name;
  EXPECT_THAT(item(index, "processes")->problem, HasSubstr("has ended"));
  EXPECT_EQ(item(index, "counters")->file, "");
}

TEST_F(Evidence, a_source_that_hangs_costs_its_deadline_only) {
  std::mutex mutex;
  std::condition_variable released;
  bool is_released = false;
  int ended = 0;
  sources_.telemetry = [&](MonoTime) -> Result<std::string> {
    std::unique_lock lock(mutex);
    released.wait(lock, [&] { return is_released; });
    ++ended;
    released.notify_all();
    return std::string();
  };
  sources_.kernel_log = [](MonoTime) { return "line\n"; };
  const MonoTime begin = host::mono_now();
  const EvidenceIndex index = capture(request("f-1", {}), {.telemetry = 50ms});
  EXPECT_LT(host::mono_now() - begin, 20s);
  EXPECT_THAT(item(index, "telemetry")->problem, HasSubstr("no answer in time"));
  EXPECT_EQ(item(index, "kernel_log")->problem, "");
  EXPECT_EQ(runner_.abandoned(), 1);
  for (int i = 0; i < 5; ++i)
    (void)capture(request("g-" + std::to_string(i), {}), {.telemetry = 1ms});
  EXPECT_EQ(runner_.abandoned(), DeadlineRunner::kMaxAbandoned);
  std::unique_lock lock(mutex);
  is_released = true;
  released.notify_all();
  released.wait_for(lock, 20s, [&] { return ended == DeadlineRunner::kMaxAbandoned; });
  lock.unlock();
  for (const MonoTime until = host::mono_now() + 20s; runner_.abandoned() > 0 && host::mono_now() < until;)
    std::this_thread::yield();
  EXPECT_EQ(runner_.abandoned(), 0);
}

TEST_F(Evidence, a_pipe_without_a_reader_does_not_block) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe_0.pipe").c_str(), 0600), 0);
  sources_.environment_of = [&](const RankProcess&) {
    return RankEnvironment{.trigger_prefix = folder_ / "pipe_"};
  };
  const EvidenceIndex index = capture(request("f-1", {rank_of(::getpid(), 0)}));
  EXPECT_THAT(item(index, "flight_recorder")->problem, HasSubstr("no program reads the pipe"));
}

TEST_F(Evidence, files_of_ranks_with_unknown_numbers_are_not_touched) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe_0.pipe").c_str(), 0600), 0);
  const host::Fd pipe(::open((folder_ / "pipe_0.pipe").c_str(), O_RDONLY | O_NONBLOCK));
  sources_.environment_of = [&](const RankProcess&) {
    return RankEnvironment{.trigger_prefix = folder_ / "pipe_"};
  };
  EvidenceRequest wanted = request("f-1", {rank_of(::getpid(), 0)});
  wanted.has_local_ranks = true;
  const EvidenceIndex index = capture(wanted);
  EXPECT_THAT(item(index, "flight_recorder")->problem, HasSubstr("the ranks of the job are not known"));
  EXPECT_EQ(item(index, "flight_recorder_summary"), nullptr);
  char byte = 0;
  EXPECT_NE(::read(pipe.get(), &byte, 1), 1) << "another rank was asked";
}

TEST_F(Evidence, at_most_64_threads_are_read) {
  std::vector<RankProcess> processes(100, rank_of(::getpid(), 0));
  (void)capture(request("f-1", processes));
  const std::string text = store_.read("f-1", "processes.txt").value();
  std::size_t heads = 0;
  for (std::size_t at = 0; (at = text.find("== rank", at)) != std::string::npos; ++at)
    ++heads;
  EXPECT_EQ(heads, kMaxEvidenceThreads);
}

TEST_F(Evidence, a_worker_captures_one_after_the_other) {
  std::mutex mutex;
  mutex.lock();
  EvidenceSources sources;
  sources.kernel_log = [&](MonoTime) {
    const std::lock_guard lock(mutex);
    return std::string("line\n");
  };
  EvidenceCapture worker(std::make_shared<EvidenceStore>(std::move(store_)), sources, {.kernel_log = 20s});
  std::size_t taken = 0;
  for (std::size_t i = 0; i < 3 * EvidenceCapture::kMaxWaiting; ++i)
    taken += worker.start(request("f-" + std::to_string(i), {})) ? 1 : 0;
  EXPECT_GE(taken, EvidenceCapture::kMaxWaiting);
  EXPECT_LE(taken, EvidenceCapture::kMaxWaiting + 1);
  mutex.unlock();
  std::vector<EvidenceCapture::Outcome> finished;
  for (const MonoTime until = host::mono_now() + 20s; finished.size() < taken && host::mono_now() < until;)
    std::ranges::move(worker.take_finished(), std::back_inserter(finished));
  ASSERT_EQ(finished.size(), taken);
  EXPECT_EQ(finished.front().finding, "f-0");
  EXPECT_TRUE(finished.front().index);
}

}  // namespace
}  // namespace autopilot::collect::capture_test
