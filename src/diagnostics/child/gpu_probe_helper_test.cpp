// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/gpu_probe_helper.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/observation.hpp"
#include "diagnostics/child/child_line.hpp"

namespace autopilot::diagnostics {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

host::GpuDevice probe_device(int number) {
  host::GpuDevice device;
  device.subject = {.kind = SubjectKind::gpu,
                    .key = "0000:0" + std::to_string(number) + ":00.0",
                    .index = number,
                    .uuid = {},
                    .serial = {}};
  device.name = "NVIDIA H100 80GB HBM3";
  return device;
}

host::GpuProbeReport::Gpu probe_gpu(int number) {
  host::GpuProbeReport::Gpu gpu;
  gpu.pci_address = probe_device(number).subject.key;
  gpu.uuid = "GPU-" + std::to_string(number);
  return gpu;
}

host::GpuProbeReport::Test probe_test_of(std::string name, std::vector<host::GpuProbeReport::Series> measured,
                                         bool together = false) {
  host::GpuProbeReport::Test test;
  test.name = std::move(name);
  test.together = together;
  test.measured = std::move(measured);
  return test;
}

// "gpu/0000:01:00.0 sdc.wrong 0": all that is said, in its order, but the model.
std::vector<std::string> probe_words(std::string_view check, const host::GpuProbeReport& report,
                                     const std::vector<host::GpuDevice>& devices) {
  const auto all = gpu_probe_observations(*find_gpu_probe_test(check), report, devices);
  std::vector<std::string> lines;
  for (const Observation& one : all.value_or(Observations{})) {
    if (one.name == "gpu.model") continue;
    std::string line = autopilot::to_string(one.subject) + " " + one.name + " ";
    line += one.value ? autopilot::to_string(*one.value) : one.missing + ": " + attribute_text(one, "error");
    lines.push_back(line);
  }
  return lines;
}

TEST(GpuProbeWords, of_a_link_tell_how_fast_it_was_and_how_it_ran_then) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1)};
  report.gpus[0].tests = {
      probe_test_of("pcie",
                    {{"host_to_device", "", 50.12345}, {"device_to_host", "", 49}, {"both_ways", "", 90}}),
      probe_test_of("pcie", {{"host_to_device", "", 25}}, true)};
  report.gpus[0].sensors = {{"", {{"pcie_generation", 1}, {"pcie_lanes", 16}}, {}},
                            {"pcie", {{"pcie_generation", 5}, {"pcie_lanes", 16}}, {}},
                            {"pcie", {{"pcie_generation", 4}, {"pcie_lanes", 16}}, {}}};
  EXPECT_THAT(
      probe_words("gpu.pcie_bandwidth", report, {probe_device(1)}),
      ElementsAre(
          "host pcie_bandwidth.outcome measured", "gpu/0000:01:00.0 pcie_bandwidth.host_to_device 50.123",
          "gpu/0000:01:00.0 pcie_bandwidth.device_to_host 49", "gpu/0000:01:00.0 pcie_bandwidth.both_ways 90",
          "gpu/0000:01:00.0 pcie_bandwidth.together 25", "gpu/0000:01:00.0 pcie_bandwidth.generation 5",
          "gpu/0000:01:00.0 pcie_bandwidth.lanes 16", "gpu/0000:01:00.0 pcie_bandwidth.wrong 0"));
}

TEST(GpuProbeWords, of_arithmetic_tell_what_the_gpu_was_like_under_load) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1)};
  report.gpus[0].tests = {probe_test_of("pcie", {{"host_to_device", "", 50}, {"device_to_host", "", 49}}),
                          probe_test_of("hbm", {{"daxpy", "", 2500}}, true),
                          probe_test_of("gemm", {{"f64", "", 40}}, true)};
  report.gpus[0].sensors = {
      {"gemm", {{"temperature_c", 61}, {"power_w", 650}, {"sm_clock_mhz", 1900}}, {"gpu_idle"}},
      {"gemm",
       {{"temperature_c", 66}, {"power_w", 690}, {"sm_clock_mhz", 1500}},
       {"hw_thermal", "sw_power_cap"}},
      {"pcie", {{"temperature_c", 99}}, {"hw_slowdown"}}};
  EXPECT_THAT(
      probe_words("gpu.compute", report, {probe_device(1)}),
      ElementsAre("host compute.outcome measured", "gpu/0000:01:00.0 compute.host_to_device_pinned 50",
                  "gpu/0000:01:00.0 compute.device_to_host_pinned 49", "gpu/0000:01:00.0 compute.daxpy 2500",
                  "gpu/0000:01:00.0 compute.dgemm 40", "gpu/0000:01:00.0 compute.temperature 66",
                  "gpu/0000:01:00.0 compute.power 690", "gpu/0000:01:00.0 compute.sm_clock 1500",
                  "gpu/0000:01:00.0 compute.throttled sw_power_cap,hw_thermal",
                  "gpu/0000:01:00.0 compute.wrong 0"));
}

TEST(GpuProbeWords, bf16_that_another_gpu_of_the_model_has_is_missed) {
  const auto lacking = [](const std::vector<std::string>& lines) {
    return std::ranges::count_if(lines, [](const std::string& line) {
      return line.starts_with("gpu/0000:02:00.0 compute.bf16 unavailable");
    });
  };
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1), probe_gpu(2)};
  report.gpus[0].tests = {probe_test_of("gemm", {{"f64", "", 60}, {"bf16", "", 700}})};
  report.gpus[1].tests = {probe_test_of("gemm", {{"f64", "", 60}})};
  EXPECT_EQ(lacking(probe_words("gpu.compute", report, {probe_device(1), probe_device(2)})), 1);
  report.gpus[1].name = "NVIDIA P100";
  EXPECT_EQ(lacking(probe_words("gpu.compute", report, {probe_device(1), probe_device(2)})), 0)
      << "another model";
  report.gpus[1].name.clear();
  report.gpus[1].tests[0].disputed = {{"row 3", 1, ""}};
  EXPECT_EQ(lacking(probe_words("gpu.compute", report, {probe_device(1), probe_device(2)})), 0)
      << "it was not left out";
}

TEST(GpuProbeWords, name_the_places_of_wrong_results) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1), probe_gpu(2)};
  report.gpus[0].tests = {probe_test_of("sdc", {}, true)};
  report.gpus[0].tests[0].wrong = {{"multiprocessor 3", 2, "bits 0x4"}, {"multiprocessor 7", 1, "bits 0x1"}};
  report.gpus[0].tests[0].facts = {{"multiprocessors_tested", 132}};
  report.gpus[1].tests = {probe_test_of("sdc", {}, true)};
  EXPECT_THAT(probe_words("gpu.sdc", report, {probe_device(1), probe_device(2)}),
              ElementsAre("host sdc.outcome measured", "gpu/0000:01:00.0 sdc.multiprocessors 132",
                          "gpu/0000:01:00.0 sdc.wrong 3", "gpu/0000:02:00.0 sdc.wrong 0"));
  const auto all =
      gpu_probe_observations(*find_gpu_probe_test("gpu.sdc"), report, std::vector{probe_device(1)});
  EXPECT_EQ(attribute_text(all->back(), "where"), "multiprocessor 3, multiprocessor 7");
  EXPECT_EQ(attribute_text(all->back(), "detail"), "bits 0x4");
}

TEST(GpuProbeWords, what_kernels_disagree_on_is_told_and_is_not_wrong) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1)};
  report.gpus[0].tests = {probe_test_of("pcie", {{"host_to_device", "", 50}, {"device_to_host", "", 49}}),
                          probe_test_of("hbm", {{"daxpy", "", 2500}}),
                          probe_test_of("gemm", {{"f64", "", 40}, {"bf16_mma_sync", "", 310}})};
  report.gpus[0].tests[2].disputed = {{"bf16 product, row 3, column 9", 1, "4 instead of 7"}};
  const auto all =
      gpu_probe_observations(*find_gpu_probe_test("gpu.compute"), report, std::vector{probe_device(1)});
  const auto lines = probe_words("gpu.compute", report, {probe_device(1)});
  EXPECT_THAT(lines, Contains("gpu/0000:01:00.0 compute.bf16_mma_sync 310"));
  EXPECT_THAT(lines, Contains("gpu/0000:01:00.0 compute.wrong 0"));
  EXPECT_EQ(lines.back(), "gpu/0000:01:00.0 compute.disputed 1");
  EXPECT_EQ(attribute_text(all->back(), "where"), "bf16 product, row 3, column 9");
}

TEST(GpuProbeWords, what_was_not_measured_has_not_passed_and_says_why) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1)};
  report.gpus[0].error = "memory: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)";
  EXPECT_THAT(probe_words("gpu.memory_test", report, {probe_device(1), probe_device(2)}),
              ElementsAre("host memory_test.outcome measured",
                          "gpu/0000:01:00.0 memory_test.wrong unavailable: memory: cuMemAlloc_v2: "
                          "CUDA_ERROR_OUT_OF_MEMORY (2)",
                          "gpu/0000:02:00.0 memory_test.wrong unavailable: the GPU probe did not see it: is "
                          "it hidden from CUDA?"));
}

TEST(GpuProbeWords, what_was_skipped_has_not_passed_and_says_why) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1)};
  report.gpus[0].tests = {probe_test_of("sdc", {}, true)};
  report.gpus[0].tests[0].skipped = "cuLaunchKernel: CUDA_ERROR_NOT_SUPPORTED (801)";
  EXPECT_THAT(probe_words("gpu.sdc", report, {probe_device(1)}),
              ElementsAre("host sdc.outcome measured",
                          "gpu/0000:01:00.0 sdc.wrong unavailable: sdc: cuLaunchKernel: "
                          "CUDA_ERROR_NOT_SUPPORTED (801)"));
}

TEST(GpuProbeWords, what_is_wrong_counts_though_the_test_did_not_come_to_its_end) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1)};
  report.gpus[0].error = "the driver has not returned for 30 s";
  report.gpus[0].tests = {probe_test_of("memory", {}, true)};
  report.gpus[0].tests[0].wrong = {{"word at byte 4096 of 1048576", 1, "bits 0x10"}};
  EXPECT_THAT(probe_words("gpu.memory_test", report, {probe_device(1)}),
              ElementsAre("host memory_test.outcome measured", "gpu/0000:01:00.0 memory_test.wrong 1"));
}

TEST(GpuProbeWords, of_copies_between_gpus_name_both_ends) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1), probe_gpu(2)};
  report.gpus[0].tests = {
      probe_test_of("p2p", {{"write", "GPU-2", 300}, {"read", "GPU-2", 290}, {"read", "GPU-9", 1}})};
  report.gpus[0].tests[0].facts = {{"peers", 1}, {"peers_with_direct_access", 1}};
  report.gpus[1].tests = {probe_test_of("p2p", {{"write", "GPU-1", 301}})};
  EXPECT_THAT(probe_words("gpu.p2p", report, {probe_device(1), probe_device(2)}),
              ElementsAre("host p2p.outcome measured", "gpu/0000:01:00.0 p2p.peers 1",
                          "gpu/0000:01:00.0 p2p.direct 1", "link/0000:01:00.0|0000:02:00.0 p2p.write 300",
                          "link/0000:01:00.0|0000:02:00.0 p2p.read 290", "gpu/0000:01:00.0 p2p.wrong 0",
                          "link/0000:02:00.0|0000:01:00.0 p2p.write 301", "gpu/0000:02:00.0 p2p.wrong 0"));
  EXPECT_THAT(probe_words("gpu.p2p", report, {probe_device(1)}), ElementsAre("host p2p.outcome no_peers"));
}

TEST(GpuProbeWords, a_pair_that_failed_proves_nothing_and_leaves_the_others) {
  host::GpuProbeReport report;
  report.gpus = {probe_gpu(1), probe_gpu(2)};
  report.gpus[0].tests = {probe_test_of("p2p", {{"write", "GPU-2", 300}})};
  report.gpus[0].error = "p2p: with GPU-3: cuCtxCreate_v2: CUDA_ERROR_UNKNOWN (999)";
  const std::vector<host::GpuDevice> devices{probe_device(1), probe_device(2)};
  const auto all = gpu_probe_observations(*find_gpu_probe_test("gpu.p2p"), report, devices);
  ASSERT_TRUE(all);
  const auto pair = std::ranges::find(*all, "p2p.write", &Observation::name);
  ASSERT_NE(pair, all->end());
  EXPECT_EQ(pair->value, Value(300.0));
  const auto wrong = std::ranges::find(*all, "p2p.wrong", &Observation::name);
  ASSERT_NE(wrong, all->end());
  EXPECT_EQ(wrong->value, std::nullopt);
  const Value* const why = find_attribute(wrong->attributes, "error");
  ASSERT_NE(why, nullptr);
  EXPECT_EQ(*why, Value(report.gpus[0].error));
}

TEST(GpuProbeWords, where_no_gpu_was_looked_at_nothing_is_said_of_one) {
  host::GpuProbeReport report;
  report.error = "libcuda.so.1: no driver is installed";
  const auto all =
      gpu_probe_observations(*find_gpu_probe_test("gpu.sdc"), report, std::vector{probe_device(1)});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Errc::unavailable);
  EXPECT_THAT(all.error().what, HasSubstr("no driver is installed"));
}

TEST(GpuProbeWords, of_sixteen_gpus_fit_on_the_line_of_a_child) {
  host::GpuProbeReport report;
  std::vector<host::GpuDevice> devices;
  for (int i = 0; i < 16; ++i) {
    devices.push_back(probe_device(i));
    report.gpus.push_back(probe_gpu(i));
    report.gpus.back().tests = {probe_test_of("p2p", {})};
    report.gpus.back().tests[0].facts = {{"peers", 15}, {"peers_with_direct_access", 15}};
    for (int peer = 0; peer < 16; ++peer)
      for (const char* name : {"write", "read"})
        if (peer != i)
          report.gpus.back().tests[0].measured.push_back({name, "GPU-" + std::to_string(peer), 123.4567});
  }
  const auto all = gpu_probe_observations(*find_gpu_probe_test("gpu.p2p"), report, devices);
  ASSERT_TRUE(all);
  const std::string line = to_line(*all);
  EXPECT_LT(line.size(), 64U * 1024) << "RunLimits::kMaxLine";
  EXPECT_TRUE(parse_child_line(line));
}

}  // namespace

}  // namespace autopilot::diagnostics
