// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/core_dump_trace.hpp"

#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

TEST(CoreDumpTrace, the_library_is_the_first_that_is_not_the_c_library) {
  const CrashPlace place = crash_place(
      "Process 4242 (python3) of user 1000 dumped core.\n\nStack trace of thread 4242:\n"
      "#0  0x00007f2b5c1a3e2c raise (libc.so.6 + 0x42520)\n"
      "#1  0x00007f2b5c18f7f3 abort (libc.so.6 + 0x287f3)\n"
      "#2  0x00007f2a11223344 ncclCommAbort (libnccl.so.2 + 0x12344)\n");
  EXPECT_EQ(place.library, "libnccl.so.2");
  EXPECT_EQ(place.function, "ncclCommAbort");
}

TEST(CoreDumpTrace, a_frame_without_a_name_has_a_library) {
  const CrashPlace place = crash_place("#0  0x00007f2a11223344 n/a (libtorch_cpu.so + 0x12344)");
  EXPECT_EQ(place.library, "libtorch_cpu.so");
  EXPECT_EQ(place.function, "");
}

TEST(CoreDumpTrace, a_message_without_a_stack_has_none) {
  for (const char* message : {"", "Process 4242 (python3) dumped core.", "#0 0x1", "#0 0x1 a b", "# ( ( (",
                              "#0 0x1 ( )", "#0 0x0 raise (libc.so.6 + 0x1)"})
    EXPECT_EQ(crash_place(message).library, "") << message;
}

}  // namespace
}  // namespace autopilot::host
