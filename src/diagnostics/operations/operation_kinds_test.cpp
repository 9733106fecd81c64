// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/operations/operation_kinds.hpp"

#include <algorithm>
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

std::vector<std::string> arguments_of(const std::vector<OperationKind>& kinds, std::string_view id) {
  const auto kind = std::ranges::find(kinds, id, &OperationKind::id);
  return kind == kinds.end() ? std::vector<std::string>{} : std::get<host::Command>(kind->test).arguments;
}

TEST(GpuProbeOperations, take_their_time_and_their_memory_from_the_configuration) {
  const auto kinds = gpu_probe_operations(
      {.time = std::chrono::seconds{2}, .memory_percent = 80, .deadline = std::chrono::minutes{1}});
  EXPECT_THAT(arguments_of(kinds, "gpu.memory_test"), ElementsAre("helper", "gpu_probe", "gpu.memory_test",
                                                                  "--seconds", "2", "--memory-share", "0.8"));
  EXPECT_THAT(arguments_of(kinds, "gpu.sdc"),
              ElementsAre("helper", "gpu_probe", "gpu.sdc", "--seconds", "2"));
  for (const OperationKind& kind : kinds) {
    EXPECT_EQ(kind.deadline, std::chrono::minutes{1}) << kind.id;
    EXPECT_TRUE(kind.is_told_reservation) << kind.id;
  }
}

// Who adds a test says so in config/settings.cpp: without that no schedule could have it.
TEST(GpuProbeOperations, can_all_be_scheduled) {
  for (const OperationKind& kind : gpu_probe_operations(config::GpuProbe{})) {
    const auto parsed = config::parse("gpu_tests: {checks: [" + kind.id + "]}", "config.yaml", {});
    EXPECT_TRUE(parsed) << parsed.error().what;
  }
}

TEST(GpuProbeOperations, use_no_kernels_above_the_level_of_the_configuration) {
  EXPECT_THAT(arguments_of(gpu_probe_operations({.kernels = "sm_90"}), "gpu.compute"),
              ElementsAre("helper", "gpu_probe", "gpu.compute", "--seconds", "0.4", "--kernels", "sm_90"));
}

TEST(GpuProbeOperations, of_a_machine_that_does_not_exist_its_drivers_are_asked) {
  EXPECT_THAT(
      arguments_of(gpu_probe_operations(config::GpuProbe{}, {"/tree", "/nvml.so", "/cuda.so"}), "gpu.p2p"),
      ElementsAre("helper", "gpu_probe", "gpu.p2p", "--seconds", "0.4", "--tree", "/tree", "--library",
                  "/nvml.so", "--cuda-library", "/cuda.so"));
}

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
