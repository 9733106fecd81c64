// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::simulator::cuda {
namespace {

using testing::HasSubstr;

constexpr const char* kGpu = R"(
gpus:
  - uuid: GPU-01234567-89ab-cdef-0123-456789abcdef
    pci_address: "0000:3B:00.0"
)";

TEST(DriverTable, a_gpu_needs_only_its_names) {
  const auto table = parse_driver_table(kGpu, "t.yaml");
  ASSERT_TRUE(table) << table.error().what;
  ASSERT_EQ(table->gpus.size(), 1U);
  EXPECT_EQ(table->gpus[0].uuid[1], 0x23);
  EXPECT_EQ(table->gpus[0].capability, 90);
  EXPECT_EQ(table->gpus[0].free_bytes, 64U << 20);
}

TEST(DriverTable, both_kernels_for_bf16_are_equally_fast_by_default) {
  const auto speed = [](const std::string& lines) {
    return parse_driver_table(kGpu + lines, "t.yaml")->gpus[0].wgmma_tflops;
  };
  EXPECT_EQ(speed("    bf16_tflops: 120\n"), 120);
  EXPECT_EQ(speed("    bf16_tflops: 120\n    wgmma_tflops: 350\n"), 350);
}

TEST(DriverTable, faults_are_read) {
  const auto table = parse_driver_table(std::string(kGpu) + R"(
    compute_capability: "8.6"
    memory_mib: 32
    free_mib: 8
    wrong_bits: [{multiprocessor: 2, bits: 0x4}]
    wrong_wgmma: 0x8
    stuck: [{offset: 4096, bits: 0x10}]
    calls:
      cuMemAlloc_v2: {result: 2, after: 3}
      cuLaunchKernel: {result: hang}
calls:
  cuInit: {result: abort}
)",
                                        "t.yaml");
  ASSERT_TRUE(table) << table.error().what;
  const GpuTable& gpu = table->gpus[0];
  EXPECT_EQ(gpu.capability, 86);
  EXPECT_EQ(gpu.free_bytes, 8U << 20);
  EXPECT_EQ(gpu.wrong_bits.at(2), 4U);
  EXPECT_EQ(gpu.wrong_wgmma, 8U);
  EXPECT_EQ(gpu.stuck[0].offset, 4096U);
  EXPECT_EQ(gpu.calls.at("cuMemAlloc_v2").code, 2);
  EXPECT_EQ(gpu.calls.at("cuMemAlloc_v2").after, 3);
  EXPECT_EQ(gpu.calls.at("cuLaunchKernel").kind, CallFault::Kind::hang);
  EXPECT_EQ(table->calls.at("cuInit").kind, CallFault::Kind::abort);
}

TEST(DriverTable, mistakes_are_named_with_their_line) {
  const std::pair<const char*, const char*> cases[] = {
      {"    memory_mib: 0\n", "t.yaml:5: `memory_mib` is not from 1 to 4096"},
      {"    free_mib: 65\n", "`free_mib` is not from 0 to 64"},
      {"    peer_gb_per_s: -1\n", "`peer_gb_per_s`: expected a number above 0"},
      {"    compute_capability: nine\n", "`compute_capability`: expected a version such as"},
      {"    wrong_bits: [{multiprocessor: 1, bits: no}]\n", "`bits`: expected a hexadecimal number"},
      {"    calls: {cuInit: {result: never}}\n", "expected hang, abort or the number"},
      {"    colour: green\n", "colour"},
  };
  for (const auto& [line, problem] : cases) {
    const auto table = parse_driver_table(std::string(kGpu) + line, "t.yaml");
    ASSERT_FALSE(table) << line;
    EXPECT_THAT(table.error().what, HasSubstr(problem));
  }
  const auto table = parse_driver_table("gpus: [{uuid: GPU-12, pci_address: x}]", "t.yaml");
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().what, HasSubstr("`uuid`: expected GPU-"));
}

TEST(DriverTable, an_empty_text_is_a_driver_without_gpus) {
  const auto table = parse_driver_table("", "t.yaml");
  EXPECT_TRUE(!table || table->gpus.empty());
}

}  // namespace
}  // namespace autopilot::simulator::cuda
