// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "checks/log_check_fixture.hpp"

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
  EXPECT_THAT(message_, HasSubstr("101 ended processes were not collected by server (1)"));
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
}  // namespace autopilot::checks
