// SPDX-License-Identifier: Apache-2.0
#include "runtime/dcgm_operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::runtime {
namespace {

using testing::ElementsAre;

TEST(DcgmOperation, what_the_configuration_says_are_arguments_and_no_shell_reads_them) {
  const config::Dcgm settings{.level = 3, .command = {"/opt/dcgmi", "diag; rm -r x"}, .deadline = {}};
  const OperationKind kind = dcgm_operation(settings, {"PCIe", "GPU Memory"}, {"/tree", "/lib.so"});
  EXPECT_EQ(kind.id, "gpu.dcgm");
  EXPECT_TRUE(kind.is_told_reservation);
  EXPECT_THAT(
      std::get<host::Command>(kind.test).arguments,
      ElementsAre("helper", "dcgm", "--level", "3", "--fatal", "PCIe", "--fatal", "GPU Memory", "--run",
                  "/opt/dcgmi", "--run", "diag; rm -r x", "--tree", "/tree", "--library", "/lib.so"));
}

TEST(DcgmOperation, of_this_machine_dcgmi_is_found_by_the_helper) {
  EXPECT_THAT(std::get<host::Command>(dcgm_operation(config::Dcgm{}, {}).test).arguments,
              ElementsAre("helper", "dcgm", "--level", "2"));
}

}  // namespace
}  // namespace autopilot::runtime
