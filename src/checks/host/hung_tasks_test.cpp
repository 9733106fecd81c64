// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "checks/builtin.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/clock/system_clock.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/checks/log_check_fixture.hpp"
#include "tests/support/host/loop_filesystem.hpp"
#include "tests/support/host/run_program.hpp"

namespace autopilot::checks {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostHungTasks : public LogCheckTest {
 protected:
  HostHungTasks() : LogCheckTest(kHostHungTasks, 60s) { set(1, 'S', 10); }
  void set(int pid, char state, int switches, const std::string& place = "rpc_wait_bit_killable",
           int started = 7700, int parent = 0) {
    const std::string folder = "/proc/" + std::to_string(pid);
    folder_.write(folder + "/stat",
                  std::to_string(pid) + " (python3) " + std::string(1, state) + " " + std::to_string(parent) +
                      " 1 1 0 -1 4194304 0 0 0 0 0 12 0 0 20 0 1 0 " + std::to_string(started) + " 0 0\n");
    folder_.write(folder + "/status", "voluntary_ctxt_switches:\t" + std::to_string(switches) +
                                          "\nnonvoluntary_ctxt_switches:\t0\n");
    folder_.write(folder + "/wchan", place);
  }
  void end(int pid) { std::filesystem::remove_all(folder_.path() + "/proc/" + std::to_string(pid)); }
  std::vector<std::string> words(int looks = 1) {
    std::vector<std::string> list;
    for (int look = 0; look < looks; ++look) {
      const auto findings = try_look(step_);
      if (!findings) return {std::string(to_string(findings.error().code))};
      list.clear();
      for (const Finding& finding : *findings) {
        list.push_back(reason_of(finding));
        message_ = finding.message;
      }
    }
    return list;
  }

  std::string message_;
};

TEST_F(HostHungTasks, a_process_that_did_not_run_in_five_looks_is_stuck_until_it_runs) {
  set(42, 'D', 7);
  EXPECT_THAT(words(4), IsEmpty());
  EXPECT_THAT(words(), ElementsAre("degraded tasks_stuck"));
  EXPECT_THAT(message_, HasSubstr("python3 (42) in rpc_wait_bit_killable (disk or filesystem)"));
  set(42, 'D', 8);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostHungTasks, a_report_names_the_place_and_the_module_of_the_call_trace_below_it) {
  say("INFO: task python3:42 blocked for more than 120 seconds.");
  for (const char* row :
       {"Call Trace:", " <TASK>", " __schedule+0x34d/0x9e0", " schedule+0x5a/0xd0",
        " rpc_wait_bit_killable+0x11/0x30 [sunrpc]", " nfs_getattr+0x6b/0x110 [nfs]", " </TASK>"})
    say(row);
  EXPECT_THAT(words(), ElementsAre("degraded task_hung"));
  EXPECT_THAT(message_, HasSubstr("it waits in rpc_wait_bit_killable (disk or filesystem), module sunrpc"));
}

TEST_F(HostHungTasks, rows_that_user_space_wrote_name_no_place) {
  say("INFO: task python3:42 blocked for more than 120 seconds.");
  say(" uvm_ioctl+0x10/0x20 [nvidia_uvm]", 1);
  EXPECT_THAT(words(), ElementsAre("degraded task_hung"));
  EXPECT_THAT(message_, testing::Not(HasSubstr("waits in")));
}

TEST_F(HostHungTasks, a_busy_process_is_found_waiting_every_time_and_runs_between) {
  for (int look = 0; look < 10; ++look) {
    set(42, 'D', look);
    EXPECT_THAT(words(), IsEmpty());
  }
}

TEST_F(HostHungTasks, another_process_with_the_same_number_is_another) {
  set(42, 'D', 7);
  words(3);
  set(42, 'D', 7, "rpc_wait_bit_killable", 9000);
  EXPECT_THAT(words(4), IsEmpty());
  EXPECT_THAT(words(), ElementsAre("degraded tasks_stuck"));
}

TEST_F(HostHungTasks, one_that_was_missed_in_a_look_begins_anew) {
  set(42, 'D', 7);
  words(4);
  set(42, 'S', 7);
  EXPECT_THAT(words(), IsEmpty());
  set(42, 'D', 7);
  EXPECT_THAT(words(4), IsEmpty());
}

TEST_F(HostHungTasks, what_stands_still_on_purpose_is_sound) {
  set(42, 'D', 7, "__refrigerator");
  set(43, 'D', 7, "kernel_clone");
  EXPECT_THAT(words(6), IsEmpty());
}

TEST_F(HostHungTasks, ended_processes_pile_up_under_one_parent) {
  for (int pid = 1000; pid < 1101; ++pid)
    set(pid, 'Z', 0, "0", 7700, 1);
  folder_.write("/proc/1/comm", "server\n");
  EXPECT_THAT(words(), ElementsAre("degraded zombies_pile_up"));
  EXPECT_THAT(message_, HasSubstr("101 zombie processes were not reaped by server (1)"));
  end(1000);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(HostHungTasks, the_kernels_own_report_counts_at_once) {
  log_.write(empty_.clock.now(), "INFO: task a:b (c):4242 blocked for more than 120 seconds.");
  EXPECT_THAT(words(), ElementsAre("degraded task_hung"));
}

TEST_F(HostHungTasks, looks_without_the_log_and_without_processes_but_not_without_both) {
  log_.refuse();
  set(42, 'D', 7);
  EXPECT_THAT(words(5), ElementsAre("degraded tasks_stuck"));
  std::filesystem::remove_all(folder_.path() + "/proc");
  EXPECT_THAT(words(), ElementsAre("not_found"));
}

}  // namespace

// host.hung_tasks against a process that really hangs in the running kernel. Needs root, a loop device and a
// kernel with the detector of hung tasks; its settings are put back.

namespace {

using ::testing::Contains;

constexpr auto kPatience = 60s;

// A number of the kernel, changed for the time of a test.
class Setting {
 public:
  Setting(const std::string& name, std::int64_t value) : path_("/proc/sys/kernel/" + name) {
    const auto before = host::Files().read_integer(path_);
    if (!before) return;
    before_ = *before;
    is_set_ = write(value);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    if (!is_set_) return;
    EXPECT_TRUE(write(before_)) << path_ << " keeps a value of the test";
  }
  [[nodiscard]] bool is_set() const { return is_set_; }

 private:
  [[nodiscard]] bool write(std::int64_t value) const {
    std::ofstream file(path_);
    file << value << std::flush;
    return file.good();
  }

  std::string path_;
  std::int64_t before_ = 0;
  bool is_set_ = false;
};

class HungTaskOfThisKernel : public ::testing::Test {
 protected:
  std::vector<std::string> look(Duration later) {
    offset_ += later;
    Instant now = clock_.now();
    now.mono += offset_;
    now.wall += offset_;
    auto observed = kHostHungTasks.observe(
        host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = next_record_});
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    next_record_ = observed->kernel_log_next.value_or(next_record_);
    witnesses_ = observed->witnesses;
    history_.add(std::move(observed->observations), kHostHungTasks.info.window);
    std::vector<std::string> reasons;
    for (const Finding& finding : kHostHungTasks.judge(
             {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      reasons.push_back(finding.reason);
    return reasons;
  }
  // What the call trace of the report told of `process`.
  [[nodiscard]] std::string place_of(std::string_view process) const {
    std::string place;
    for (const Observation& event : history_.events())
      if (may_act(event) && attribute_of(event, "process") == process)
        place += attribute_of(event, "waitsIn");
    return place;
  }
  // The kernel writes a report row by row; an agent is told when it pauses.
  void wait_for_report(const std::string& process) {
    const MonoTime end = clock_.now().mono + kPatience;
    for (bool is_whole = false; !is_whole && clock_.now().mono < end;) {
      const auto log = kernel_log_.read(next_record_, end);
      ASSERT_TRUE(log) << log.error().what;
      bool is_reported = false;
      for (const host::KernelRecord& record : log->records) {
        is_reported = is_reported || record.text.starts_with("INFO: task " + process + ":");
        is_whole = is_whole || (is_reported && record.text.find("</TASK>") != std::string::npos);
      }
      std::this_thread::sleep_for(1ms);
    }
  }
  // True once the kernel itself reported `process` by its line.
  [[nodiscard]] bool is_reported(std::string_view process) const {
    for (const Observation& event : history_.events())
      if (may_act(event) && attribute_of(event, "process") == process) return true;
    return false;
  }

  host::SystemClock clock_;
  host::Files files_;
  host::KernelLogTail kernel_log_{[this] { return host::open_kernel_log(clock_); }};
  fakes::EmptyHost empty_;
  host::Host host_{clock_,          files_,           kernel_log_, empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t next_record_ = 0;
  Duration offset_{0};
  std::vector<std::string> witnesses_;
};

TEST_F(HungTaskOfThisKernel, a_writer_on_a_frozen_filesystem_is_reported_and_seen_to_stand_still) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const host::LoopFilesystem frozen;
  if (!frozen.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << frozen.why_not();
  const Setting timeout("hung_task_timeout_secs", 2);
  const Setting warnings("hung_task_warnings", 10);
  if (!timeout.is_set() || !warnings.is_set()) GTEST_SKIP() << "this kernel has no detector of hung tasks";
  look(0s);
  if (!::testing::Value(witnesses_, Contains("/dev/kmsg")))
    GTEST_SKIP() << "the kernel log cannot be read here";
  history_ = History();  // what others left in the log

  ASSERT_EQ(host::run_program({"fsfreeze", "--freeze", frozen.path()}), "");
  std::jthread writer([&] {
    host::run_program({"dd", "if=/dev/zero", "of=" + frozen.path() + "/file", "count=1"});
  });
  wait_for_report("dd");
  std::vector<std::string> reasons = look(1ms);
  const bool reported = is_reported("dd");
  for (int more = 0; more < 6; ++more)
    reasons = look(60s);
  ASSERT_EQ(host::run_program({"fsfreeze", "--unfreeze", frozen.path()}), "");
  writer.join();

  EXPECT_TRUE(reported);
  EXPECT_NE(place_of("dd"), "") << "the call trace of the kernel itself";
  EXPECT_THAT(reasons, Contains("task_hung"));
  EXPECT_THAT(reasons, Contains("tasks_stuck"));
}

}  // namespace

}  // namespace autopilot::checks
