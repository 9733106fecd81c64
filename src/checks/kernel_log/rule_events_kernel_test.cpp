// SPDX-License-Identifier: Apache-2.0
// Checks against the log of the running kernel: what it wrote itself acts, what a program wrote never does.
// Needs root; each test says what else.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "checks/builtin.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/clock/system_clock.hpp"
#include "host/kernel_log/inject_record.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/process/child_runner.hpp"
#include "host/process/poll.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;

// A container of version 1 or 2, that may use 16 MB.
class SmallCgroup {
 public:
  SmallCgroup() {
    const std::filesystem::path first = "/sys/fs/cgroup/memory";
    const bool is_first = std::filesystem::exists(first);
    path_ = (is_first ? first : first.parent_path()) / ("autopilot-test-" + std::to_string(::getpid()));
    std::error_code error;
    std::filesystem::create_directory(path_, error);
    std::ofstream limit(path_ / (is_first ? "memory.limit_in_bytes" : "memory.max"));
    limit << (16 << 20) << std::flush;
    is_made_ = !error && limit.good();
  }
  SmallCgroup(const SmallCgroup&) = delete;
  SmallCgroup& operator=(const SmallCgroup&) = delete;
  ~SmallCgroup() { ::rmdir(path_.c_str()); }
  [[nodiscard]] bool is_made() const { return is_made_; }
  [[nodiscard]] std::string processes() const { return path_ / "cgroup.procs"; }
  [[nodiscard]] std::string name() const { return path_.filename(); }

 private:
  std::filesystem::path path_;
  bool is_made_ = false;
};

class LogOfThisKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto log = tail_.read(0, host::mono_now() + 10s);
    if (!log) GTEST_SKIP() << "the kernel log cannot be read: " << log.error().what;
    from_ = log->next;
  }
  // Looks until an event about `text` is there.
  const Observation* wait_for(const Check& check, std::string_view text) {
    const MonoTime end = host::mono_now() + 20s;
    while (host::mono_now() < end) {
      const Instant now = clock_.now();
      auto observed = check.observe(host_, {.now = now, .deadline = now.mono + 5s, .kernel_log_from = from_});
      if (!observed) {
        ADD_FAILURE() << observed.error().what;
        return nullptr;
      }
      from_ = observed->kernel_log_next.value_or(from_);
      history_.add(std::move(observed->observations), check.info.window);
      for (const Observation& event : history_.events()) {
        const Value* line = find_attribute(event.attributes, "line");
        if (line != nullptr && to_string(*line).find(text) != std::string::npos) return &event;
      }
    }
    return nullptr;
  }
  std::vector<std::string> reasons(const Check& check) {
    std::vector<std::string> words;
    for (const Finding& finding : check.judge(
             {.now = clock_.now(), .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      words.push_back(finding.reason);
    return words;
  }

  host::SystemClock clock_;
  host::Files files_;
  host::KernelLogTail tail_{[this] { return host::open_kernel_log(clock_); }, {.trusts_injected = true}};
  fakes::EmptyHost empty_;
  host::Host host_{clock_,          files_,           tail_,      empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t from_ = 0;
};

TEST_F(LogOfThisKernel, what_a_program_wrote_is_shown_and_never_acts) {
  const std::string line =
      "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [autopilot-test:" + std::to_string(::getpid()) + "]";
  std::ofstream kmsg("/dev/kmsg");
  // A program may claim any facility but the kernel's. Without the end of the line nobody sees it until the
  // next record.
  kmsg << "<0>" << line << std::endl;
  if (!kmsg.good()) GTEST_SKIP() << "/dev/kmsg cannot be written here";
  const Observation* event = wait_for(kHostLockups, line);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->name, "host.soft_lockup");
  EXPECT_FALSE(may_act(*event));
  EXPECT_THAT(reasons(kHostLockups), ::testing::Not(::testing::Contains("cpu_stuck")));
}

TEST_F(LogOfThisKernel, what_was_injected_is_seen_at_once_and_marked) {
  const std::string line = "rcu: INFO: rcu_test" + std::to_string(::getpid()) + " self-detected stall on CPU";
  if (const auto injected = host::inject_kernel_record(line); !injected)
    GTEST_SKIP() << "/dev/kmsg cannot be written here: " << injected.error().what;
  const Observation* event = wait_for(kHostLockups, line);
  ASSERT_NE(event, nullptr);
  EXPECT_TRUE(is_injected(*event));
}

TEST_F(LogOfThisKernel, a_kill_inside_one_containers_limit_is_seen_and_is_no_fault_of_the_machine) {
  const SmallCgroup small;
  if (!small.is_made()) GTEST_SKIP() << "no memory cgroup can be made here";
  host::ChildRunner runner;
  // tail keeps what it may have to print: all of it, in one line without an end.
  const auto report = runner.run(
      {.program = "/bin/sh",
       .arguments = {"-c", "echo $$ > " + small.processes() + "; head -c 200000000 /dev/zero | tail"},
       .environment = {"PATH=/usr/bin:/bin"}},
      host::mono_now() + 60s);
  ASSERT_TRUE(report) << report.error().what;
  const Observation* event = wait_for(kHostMemory, "Memory cgroup out of memory: Killed process");
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->name, "memory.oom_container");
  EXPECT_TRUE(may_act(*event));
  EXPECT_EQ(to_string(*find_attribute(event->attributes, "process")), "tail");
  EXPECT_THAT(reasons(kHostMemory), ::testing::Not(::testing::Contains("oom_kills")));
}

}  // namespace
}  // namespace autopilot::checks
