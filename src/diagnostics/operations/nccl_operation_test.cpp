// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/nccl_operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

using testing::ElementsAre;

TEST(NcclOperation, what_the_configuration_says_are_arguments_and_no_shell_reads_them) {
  const OperationKind kind = nccl_operation(
      {.command = {"/opt/all_reduce_perf", "-n 5; rm -r x"}, .deadline = std::chrono::minutes{1}},
      {.tree = "/tree", .library = "/lib.so"});
  EXPECT_EQ(kind.id, "gpu.nccl_allreduce");
  EXPECT_EQ(kind.deadline, std::chrono::minutes{1});
  EXPECT_TRUE(kind.is_told_reservation);
  EXPECT_THAT(std::get<host::Command>(kind.test).arguments,
              ElementsAre("helper", "nccl_allreduce", "--run", "/opt/all_reduce_perf", "--run",
                          "-n 5; rm -r x", "--tree", "/tree", "--library", "/lib.so"));
}

}  // namespace
}  // namespace autopilot::diagnostics
