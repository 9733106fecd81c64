// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/call_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace autopilot::checks {
namespace {

using ::testing::IsEmpty;

std::vector<host::KernelRecord> log_of(const std::vector<std::string>& lines) {
  std::vector<host::KernelRecord> records;
  for (const std::string& line : lines) {
    host::KernelRecord& record = records.emplace_back();
    record.sequence = 100 + records.size();
    record.text = line;
  }
  return records;
}

TEST(CallTrace, rows_are_parsed_and_nothing_else) {
  const auto frame = parse_trace_frame(" nfs4_proc_getattr+0x6b/0x110 [nfsv4]");
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->function, "nfs4_proc_getattr");
  EXPECT_EQ(frame->module, "nfsv4");
  EXPECT_EQ(parse_trace_frame("  __schedule+0x2eb/0x8d0")->module, "");
  EXPECT_EQ(parse_trace_frame("do_sys_openat2.constprop.0+0x1/0x2")->function, "do_sys_openat2.constprop.0");
  for (const char* text :
       {"", " ? __switch_to+0x1/0x2", " <TASK>", "RIP: 0033:0x7f12", "a+b", "a+0x1", "a+0x1/2", "a+1/0x2",
        " nfs_getattr+0x6b/0x110 nfs", " nfs_getattr+0x6b/0x110 [nfs", " x+0x1/0x2 [a] b", "+0x1/0x2"})
    EXPECT_FALSE(parse_trace_frame(text)) << text;
}

TEST(CallTrace, a_task_waits_where_the_waiting_itself_ends) {
  const auto places = waiting_places(log_of({
      "INFO: task python3:4242 blocked for more than 120 seconds.",
      "      Not tainted 6.1.0-18-amd64 #1 Debian 6.1.76-1",
      "task:python3         state:D stack:0     pid:4242  ppid:1      flags:0x00000002",
      "Call Trace:",
      " <TASK>",
      " __schedule+0x34d/0x9e0",
      " schedule+0x5a/0xd0",
      " io_schedule+0x42/0x70",
      " wait_on_page_bit_common+0x13d/0x370",
      " ? __pfx_wake_page_function+0x10/0x10",
      " nfs_wait_on_request+0x40/0x50 [nfs]",
      " nfs4_proc_getattr+0x6b/0x110 [nfsv4]",
      " </TASK>",
      " somebody_else+0x1/0x2 [other]",
  }));
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places.at(101).function, "wait_on_page_bit_common");
  EXPECT_EQ(places.at(101).module, "nfs");
}

TEST(CallTrace, each_report_has_its_own_and_one_without_is_left_out) {
  const auto places = waiting_places(log_of({
      "INFO: task a:1 blocked for more than 120 seconds.",
      " schedule+0x5a/0xd0",
      " uvm_ioctl+0x10/0x20 [nvidia_uvm]",
      "INFO: task b:2 blocked for more than 120 seconds.",
      "INFO: task c:3 blocked for more than 120 seconds.",
      " xfs_log_force+0x10/0x20 [xfs]",
  }));
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places.at(101).module, "nvidia_uvm");
  EXPECT_EQ(places.at(105).function, "xfs_log_force");
}

TEST(CallTrace, a_trace_without_a_report_belongs_to_nobody_and_one_that_never_ends_is_cut) {
  EXPECT_THAT(waiting_places(log_of({" schedule+0x5a/0xd0", " uvm_ioctl+0x10/0x20 [nvidia_uvm]"})),
              IsEmpty());
  std::vector<std::string> lines{"INFO: task a:1 blocked for more than 120 seconds."};
  lines.insert(lines.end(), 64, "noise");
  lines.emplace_back(" uvm_ioctl+0x10/0x20 [nvidia_uvm]");
  EXPECT_THAT(waiting_places(log_of(lines)), IsEmpty());
}

}  // namespace
}  // namespace autopilot::checks
