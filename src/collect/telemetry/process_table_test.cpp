// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/process_table.hpp"

#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "host/clock/system_clock.hpp"
#include "tests/support/host/fake_reader.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::process_table_test {
namespace {

using jobs::Metric;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// A real process that runs `work` and ends with its owner.
class RealChild {
 public:
  template <class Work>
  explicit RealChild(const Work& work) : pid_(::fork()) {
    if (pid_ != 0) return;
    work();
    ::_exit(0);
  }
  RealChild(const RealChild&) = delete;
  RealChild& operator=(const RealChild&) = delete;
  ~RealChild() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

SeenJobs jobs_of(std::int64_t pid, std::vector<std::int64_t> children = {}) {
  SeenJobs seen;
  SeenJob& job = seen.jobs.emplace_back();
  job.record.job = "ml/llama";
  RankProcess& rank = job.processes.emplace_back();
  rank.pid = pid;
  rank.rank = 3;
  rank.children = std::move(children);
  return seen;
}

float value_of(const jobs::WindowRecord& window, Metric metric) {
  for (const jobs::Column& column : window.columns)
    if (column.metric == metric) return column.values.at(0);
  return jobs::kMissing;
}

class SampledProcesses : public testing::Test {
 protected:
  [[nodiscard]] MonoTime now() const { return clock_.now().mono; }

  host::SystemClock clock_;
  host::Files files_;
  ProcessTable table_{files_};
  jobs::WindowRecord window_;
};

TEST_F(SampledProcesses, a_busy_process_uses_a_core) {
  RealChild child([] {
    for (volatile unsigned turn = 0;; turn = turn + 1) {
    }
  });
  const SeenJobs jobs = jobs_of(child.pid());
  const MonoTime begin = now();
  table_.sample(jobs, begin);
  // The processor may be shared: until the kernel has counted a tenth of a second.
  while (host::read_task_state(files_, child.pid())->cpu_ticks < 10 && now() - begin < 10s)
    std::this_thread::yield();
  const MonoTime end = now();
  table_.close(jobs, end, window_);
  ASSERT_THAT(window_.processes, SizeIs(1));
  EXPECT_EQ(window_.processes[0].job, "ml/llama");
  EXPECT_EQ(window_.processes[0].rank, 3);
  const double seconds = to_seconds(end - begin);
  EXPECT_GT(value_of(window_, Metric::process_cpu), 0.07 / seconds);
  EXPECT_LT(value_of(window_, Metric::process_cpu), 1.2);
  EXPECT_EQ(value_of(window_, Metric::process_stopped), 0);
}

[[noreturn]] void occupy_processor(int number) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(number, &one);
  ::sched_setaffinity(0, sizeof one, &one);
  for (volatile unsigned turn = 0;; turn = turn + 1) {
  }
}

TEST_F(SampledProcesses, a_process_that_shares_its_processor_waits_for_it) {
  const int processor = ::sched_getcpu();
  RealChild other([&] { occupy_processor(processor); });
  RealChild child([&] { occupy_processor(processor); });
  const SeenJobs jobs = jobs_of(child.pid());
  const MonoTime begin = now();
  table_.sample(jobs, begin);
  const auto delay = [&] { return host::read_run_delay(files_, child.pid()).value_or(Duration{0}); };
  const Duration before = delay();
  while (delay() - before < 100ms && now() - begin < 10s)
    std::this_thread::yield();
  const MonoTime end = now();
  table_.close(jobs, end, window_);
  EXPECT_GE(value_of(window_, Metric::process_run_delay), 0.09 / to_seconds(end - begin));
  EXPECT_LE(value_of(window_, Metric::process_run_delay), 1);
}

TEST_F(SampledProcesses, a_stopped_process_is_stopped) {
  RealChild child([] { ::pause(); });
  ASSERT_EQ(::kill(child.pid(), SIGSTOP), 0);
  ASSERT_EQ(::waitpid(child.pid(), nullptr, WUNTRACED), child.pid());
  const SeenJobs jobs = jobs_of(child.pid());
  const MonoTime begin = now();
  for (int second = 0; second < 3; ++second)
    table_.sample(jobs, begin + second * 1s);
  table_.close(jobs, begin + 3s, window_);
  EXPECT_EQ(value_of(window_, Metric::process_stopped), 1);
  EXPECT_EQ(value_of(window_, Metric::process_cpu), 0);
  EXPECT_EQ(value_of(window_, Metric::process_disk_sleep), 0);
}

TEST_F(SampledProcesses, what_a_child_process_writes_belongs_to_its_rank) {
  host::TestFolder folder;
  const std::string file = folder / "data";
  int go[2] = {};
  int done[2] = {};
  ASSERT_EQ(::pipe(go), 0);
  ASSERT_EQ(::pipe(done), 0);
  constexpr std::size_t kBytes = 50'000'000;
  RealChild main([] { ::pause(); });
  RealChild loader([&] {
    char word = 0;
    if (::read(go[0], &word, 1) != 1) return;
    const int fd = ::open(file.c_str(), O_CREAT | O_WRONLY, 0600);
    const std::vector<char> block(1'000'000);
    for (std::size_t written = 0; written < kBytes; written += block.size())
      if (::write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) return;
    if (::write(done[1], &word, 1) == 1) ::pause();
  });
  const SeenJobs jobs = jobs_of(main.pid(), {loader.pid()});
  const MonoTime begin = now();
  table_.sample(jobs, begin);
  char word = 'x';
  ASSERT_EQ(::write(go[1], &word, 1), 1);
  ASSERT_EQ(::read(done[0], &word, 1), 1);
  table_.close(jobs, begin + 10s, window_);
  EXPECT_NEAR(value_of(window_, Metric::process_io_bytes_s), kBytes / 10.0, kBytes / 200.0);
  for (const int fd : {go[0], go[1], done[0], done[1]})
    ::close(fd);
}

TEST_F(SampledProcesses, a_process_that_ended_has_no_row) {
  RealChild child([] { ::pause(); });
  const SeenJobs jobs = jobs_of(child.pid());
  const MonoTime begin = now();
  table_.sample(jobs, begin);
  child.end();
  table_.close(jobs, begin + 10s, window_);
  EXPECT_THAT(window_.processes, IsEmpty());
  EXPECT_THAT(window_.columns, IsEmpty());
}

class TreeProcesses : public testing::Test {
 protected:
  void write(int pid, char state, int ticks, int started) {
    folder_.write("/proc/" + std::to_string(pid) + "/stat",
                  std::to_string(pid) + " (python) " + state + " 1 1 1 0 -1 4194304 0 0 0 0 " +
                      std::to_string(ticks) + " 0 0 0 20 0 1 0 " + std::to_string(started) + " 0 0\n");
  }
  void write_io(int pid, int bytes) {
    folder_.write("/proc/" + std::to_string(pid) + "/io",
                  "rchar: " + std::to_string(bytes) + "\nwchar: 0\nread_bytes: 0\nwrite_bytes: 0\n");
  }

  host::TestFolder folder_;
  host::Files files_{folder_.path()};
  ProcessTable table_{files_};
  jobs::WindowRecord window_;
  const MonoTime begin_{1000s};
};

TEST_F(TreeProcesses, a_pid_of_another_process_has_no_row) {
  SeenJobs jobs = jobs_of(42);
  jobs.jobs[0].processes[0].started_ticks = 700;
  write(42, 'R', 100, 700);
  table_.sample(jobs, begin_);
  write(42, 'R', 5, 99'000);
  table_.sample(jobs, begin_ + 1s);
  table_.close(jobs, begin_ + 10s, window_);
  EXPECT_THAT(window_.processes, IsEmpty());
}

TEST_F(TreeProcesses, children_count_and_a_reused_pid_of_one_does_not) {
  const SeenJobs jobs = jobs_of(42, {43, 44});
  write(42, 'D', 100, 700);
  write(43, 'S', 1000, 800);
  write(44, 'S', 1000, 800);
  table_.sample(jobs, begin_);
  write(42, 'S', 600, 700);
  write(43, 'S', 1500, 800);
  write(44, 'S', 9'000, 90'000);  // another process, older than the window
  table_.sample(jobs, begin_ + 5s);
  table_.close(jobs, begin_ + 10s, window_);
  EXPECT_FLOAT_EQ(value_of(window_, Metric::process_cpu), 1.0);
  EXPECT_FLOAT_EQ(value_of(window_, Metric::process_disk_sleep), 0.5);
  EXPECT_TRUE(std::isnan(value_of(window_, Metric::process_io_bytes_s))) << "io was not readable";
  jobs::WindowRecord next;
  table_.sample(jobs, begin_ + 11s);
  write(42, 'S', 1100, 700);
  write(44, 'S', 9'250, 90'000);
  table_.close(jobs, begin_ + 20s, next);
  EXPECT_FLOAT_EQ(value_of(next, Metric::process_cpu), 0.75);
}

TEST_F(TreeProcesses, io_that_is_closed_comes_from_the_reader) {
  const host::Files closed(folder_.path(), [](std::string_view path) -> Status {
    if (path.ends_with("/io")) return fail(Errc::denied, std::string(path));
    return {};
  });
  const auto reader = std::make_shared<host::FakeReader>();
  ProcessTable table(closed, reader);
  SeenJobs jobs = jobs_of(42);
  jobs.jobs[0].processes.push_back(jobs.jobs[0].processes[0]);
  jobs.jobs[0].processes[1].rank = 4;
  jobs.jobs[0].processes[1].pid = 43;
  write(42, 'S', 0, 700);
  write(43, 'S', 0, 700);
  reader->known_io[{42, 700}] = {.call_read_bytes = 1000};
  table.sample(jobs, begin_);
  reader->known_io[{42, 700}] = {.call_read_bytes = 6000};
  table.close(jobs, begin_ + 10s, window_);
  EXPECT_FLOAT_EQ(value_of(window_, Metric::process_io_bytes_s), 500);
  EXPECT_EQ(table.denied_io(), 1U) << "the reader may not read the other rank either";
}

TEST_F(TreeProcesses, more_ranks_than_a_window_has_rows_are_left_out) {
  SeenJobs jobs;
  SeenJob& job = jobs.jobs.emplace_back();
  job.record.job = "big";
  for (int rank = 0; rank < 300; ++rank) {
    RankProcess& process = job.processes.emplace_back();
    process.rank = rank;
    process.pid = 1000 + rank;
    write(1000 + rank, 'S', 0, 1);
  }
  table_.sample(jobs, begin_);
  table_.close(jobs, begin_ + 10s, window_);
  EXPECT_THAT(window_.processes, SizeIs(ProcessTable::kMaxRows));
}

}  // namespace
}  // namespace autopilot::collect::process_table_test
