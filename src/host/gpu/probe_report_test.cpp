// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/probe_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::string_view kProbeReport =
    R"json({"program":"autopilot-gpu-probe","format":1,"began":"2026-11-25T12:00:00.000Z",
 "cuda_version":"12.4","gpus":[{"index":0,"uuid":"GPU-1","name":"NVIDIA H100","pci_address":"0000:1B:00.0",
 "memory_bytes":1024,"numa_node":null,"tests":[
  {"test":"pcie","scope":"alone","measured":[{"name":"host_to_device","unit":"GB/s","best":51,"median":50.5,"samples":[51,50]},
    {"name":"both_ways","unit":"GB/s","samples":[]}],
   "wrong":[{"where":"byte 0 of a copy","count":2,"detail":"bits 0x8"}],"bytes_of_a_copy":2514944},
  {"test":"pcie","scope":"together","measured":[],"wrong":[],"disputed":[{"where":"row 3","count":1,"detail":"4 instead of 7"}]},
  {"test":"p2p","scope":"alone","skipped":"needs a second GPU"}],
 "sensors":[{"seconds":0.1,"test":"pcie","power_w":310.5,"pcie_generation":5,"throttle_reasons":["sw_power_cap"]}],
 "error":"hbm: cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE (214)"}]})json";

TEST(GpuProbeReport, tells_what_was_measured_of_each_gpu) {
  const auto report = parse_gpu_probe_report(kProbeReport);
  ASSERT_TRUE(report) << report.error().what;
  const auto* gpu = report->find("0000:1b:00.0");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->error, "hbm: cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE (214)");
  const auto* pcie = gpu->find("pcie", false);
  ASSERT_NE(pcie, nullptr);
  ASSERT_EQ(pcie->measured.size(), 2U);
  EXPECT_EQ(pcie->measured[0].median, 50.5);
  EXPECT_EQ(pcie->measured[1].median, std::nullopt) << "nothing was measured before it was stopped";
  ASSERT_EQ(pcie->wrong.size(), 1U);
  EXPECT_EQ(pcie->wrong[0].count, 2U);
  EXPECT_THAT(pcie->facts, ElementsAre(Pair("bytes_of_a_copy", 2514944)));
  EXPECT_EQ(gpu->find("pcie", true)->disputed.size(), 1U);
  EXPECT_EQ(gpu->find("p2p", false)->skipped, "needs a second GPU");
  ASSERT_EQ(gpu->sensors.size(), 1U);
  EXPECT_EQ(gpu->sensors[0].values.at("power_w"), 310.5);
  EXPECT_THAT(gpu->sensors[0].throttle_reasons, ElementsAre("sw_power_cap"));
}

TEST(GpuProbeReport, and_the_exit_code_say_the_same) {
  EXPECT_TRUE(gpu_probe_report_of(kProbeReport, 2));
  EXPECT_TRUE(leaves_gpu_probe_report(3));
  EXPECT_FALSE(leaves_gpu_probe_report(70));
  constexpr std::string_view kNothingWrong = R"({"format":1,"gpus":[{"pci_address":"x","tests":[]}]})";
  EXPECT_TRUE(gpu_probe_report_of(kNothingWrong, 0));
  const auto refused = gpu_probe_report_of(kNothingWrong, 2);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("as if a result were wrong, and its report names none"));
}

TEST(GpuProbeReport, that_is_none_is_refused_with_the_place) {
  const auto refused = [](std::string_view text) {
    const auto report = parse_gpu_probe_report(text);
    return report ? "taken" : report.error().what;
  };
  EXPECT_THAT(refused(""), HasSubstr("incomplete"));
  EXPECT_THAT(refused("[]"), HasSubstr("format 1"));
  EXPECT_THAT(refused(R"({"format":2})"), HasSubstr("format 1"));
  EXPECT_THAT(refused(R"({"format":1,"gpus":1})"), HasSubstr("`gpus` is no list"));
  EXPECT_THAT(refused(R"({"format":1,"gpus":[1]})"), HasSubstr("an item of `gpus`"));
  EXPECT_THAT(refused(R"({"format":1,"gpus":[{"uuid":"GPU-1"}]})"), HasSubstr("no `pci_address`"));
  EXPECT_THAT(
      refused(
          R"({"format":1,"gpus":[{"pci_address":"x","tests":[{"test":"pcie","wrong":[{"count":-1}]}]}]})"),
      HasSubstr("a wrong result has no count"));
  EXPECT_THAT(refused(kProbeReport.substr(0, 400)), HasSubstr("report of the GPU probe"));
}

TEST(GpuProbeReport, says_why_no_gpu_was_looked_at) {
  const auto report =
      parse_gpu_probe_report(R"({"format":1,"error":"libcuda.so.1: no driver is installed","gpus":[]})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->error, "libcuda.so.1: no driver is installed");
  EXPECT_EQ(report->find("0000:1b:00.0"), nullptr);
}

}  // namespace
}  // namespace autopilot::host
