// SPDX-License-Identifier: Apache-2.0
#include "cli/why/call_trace.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace autopilot::cli {
namespace {

std::vector<host::KernelRecord> hung_with(const std::vector<std::string>& functions) {
  std::vector<std::string> lines{"INFO: task python3:4242 blocked for more than 120 seconds.",
                                 "      Not tainted 5.15.0 #1",
                                 "Call Trace:",
                                 " <TASK>",
                                 " __schedule+0x2eb/0x8d0",
                                 " schedule+0x4f/0xc0"};
  lines.insert(lines.end(), functions.begin(), functions.end());
  std::vector<host::KernelRecord> records;
  for (const std::string& line : lines) {
    host::KernelRecord record;
    record.text = line;
    records.push_back(std::move(record));
  }
  return records;
}

std::string_view what_of(const std::vector<std::string>& functions) {
  return wait_place(hung_with(functions), 0).what;
}

TEST(CallTrace, the_first_function_of_a_subsystem_decides) {
  EXPECT_EQ(what_of({" rpc_wait_bit_killable+0x1e/0xb0 [sunrpc]"}), "nfs");
  EXPECT_EQ(what_of({" io_schedule+0x46/0x80", " folio_wait_bit_common+0x13d/0x350",
                     " nfs_file_write+0x1/0x2 [nfs]"}),
            "nfs");
  EXPECT_EQ(what_of({" io_schedule+0x46/0x80", " wait_on_page_bit_common+0x1/0x2"}), "disk");
  EXPECT_EQ(what_of({" xfs_buf_lock+0x1/0x2 [xfs]", " vfs_write+0x1/0x2"}), "disk");
  EXPECT_EQ(what_of({" os_acquire_mutex+0x1/0x2 [nvidia]", " nvidia_ioctl+0x1/0x2 [nvidia]"}), "gpu");
  EXPECT_EQ(what_of({" mlx5_cmd_exec+0x1/0x2 [mlx5_core]"}), "adapter");
  EXPECT_EQ(what_of({" request_wait_answer+0x1/0x2 [fuse]"}), "fuse");
  EXPECT_EQ(what_of({" ptlrpc_set_wait+0x1/0x2 [ptlrpc]"}), "lustre");
  EXPECT_EQ(what_of({" mem_cgroup_handle_over_high+0x1/0x2"}), "memory");
  EXPECT_EQ(what_of({" futex_wait+0x1/0x2", " ? x+0x1/0x2"}), "");
  EXPECT_EQ(what_of({}), "");
}

TEST(CallTrace, the_trace_of_the_next_task_does_not_count) {
  EXPECT_EQ(what_of({" futex_wait+0x1/0x2", "INFO: task kworker:7 blocked for more than 120 seconds.",
                     " nfs_wait+0x1/0x2 [nfs]"}),
            "");
}

TEST(CallTrace, lines_of_every_kernel_are_read) {
  EXPECT_EQ(parse_trace_function("[<ffffffff81a2b3c4>] ? nfs_wait+0x1e/0xb0 [nfs]")->module, "nfs");
  EXPECT_EQ(parse_trace_function("[<0>] nfs_wait+0x1e/0xb0 [nfs 0123abcd]")->module, "nfs");
  EXPECT_EQ(parse_trace_function(" schedule+0x4f/0xc0")->name, "schedule");
  for (const char* line : {"", "RIP: 0033:0x7f1c", "+0x1", "a b+0x1/0x2", "[<", " </TASK>"})
    EXPECT_FALSE(parse_trace_function(line)) << line;
}

}  // namespace
}  // namespace autopilot::cli
