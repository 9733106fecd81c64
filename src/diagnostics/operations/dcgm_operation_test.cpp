// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/dcgm_operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

using testing::ElementsAre;

std::string excused() {
  return host::format_excuses(dcgm_excuses(catalog::builtin()));
}

TEST(DcgmOperation, errors_of_programs_and_of_the_setup_are_excused) {
  const auto excuses = dcgm_excuses(catalog::builtin());
  EXPECT_TRUE(host::is_excused(101, "Detected XID 45 for GPU 0", excuses));
  EXPECT_TRUE(host::is_excused(
      45,
      "GPU 0 is running at PCI link generation 3, which is below the minimum allowed link generation of 4",
      excuses));
  EXPECT_TRUE(host::is_excused(
      46, "GPU 0 is running at PCI link width 8X, which is below the minimum allowed link generation of 16",
      excuses));
  EXPECT_FALSE(host::is_excused(30, "Bandwidth of GPU 0 in direction h2d of 5.20", excuses));
  EXPECT_FALSE(host::is_excused(52, "Found 3 faulty memory elements on GPU 0", excuses));
  EXPECT_EQ(host::parse_excuses(excused()).value(), excuses);
}

TEST(DcgmOperation, what_the_configuration_says_are_arguments_and_no_shell_reads_them) {
  const config::Dcgm settings{.level = 3, .command = {"/opt/dcgmi", "diag; rm -r x"}, .deadline = {}};
  const OperationKind kind = dcgm_operation(settings, {"PCIe", "GPU Memory"}, {"/tree", "/lib.so"});
  EXPECT_EQ(kind.id, "gpu.dcgm");
  EXPECT_TRUE(kind.is_told_reservation);
  EXPECT_THAT(std::get<host::Command>(kind.test).arguments,
              ElementsAre("helper", "dcgm", "--level", "3", "--fatal", "PCIe", "--fatal", "GPU Memory",
                          "--excused", excused(), "--run", "/opt/dcgmi", "--run", "diag; rm -r x", "--tree",
                          "/tree", "--library", "/lib.so"));
}

TEST(DcgmOperation, of_this_machine_dcgmi_is_found_by_the_helper) {
  EXPECT_THAT(std::get<host::Command>(dcgm_operation(config::Dcgm{}, {}).test).arguments,
              ElementsAre("helper", "dcgm", "--level", "2", "--excused", excused()));
}

}  // namespace
}  // namespace autopilot::diagnostics
