// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/probe_reports.hpp"

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
  EXPECT_THAT(refused(R"({"format":1,"gpus":1})"), HasSubstr("`gpus` is not a list"));
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

// As jsonOutputInit and its companions of nccl-tests write it (src/util.cu, version 2 of the file).
constexpr std::string_view kNcclReport = R"({"version":2,"args":["all_reduce_perf"],"nccl_version":22703,
 "config":{"nthreads":1,"ngpus":8},"results":[
 {"size":1073741824,"count":268435456,"type":"float","redop":"sum","root":"    -1",
  "out_of_place":{"time":4000.1,"alg_bw":268.4,"bus_bw":469.7,"nwrong":0.000000},
  "in_place":{"time":3990.2,"alg_bw":269.1,"bus_bw":470.9,"nwrong":0.000000},"actual_iterations":20},
 {"size":2147483648,"count":536870912,"type":"float","redop":"sum","root":"    -1",
  "out_of_place":null,"in_place":{"time":"nan","alg_bw":271.0,"bus_bw":474.3,"nwrong":3.000000}}],
 "out_of_bounds":{"count":3,"okay":"false"},"average_bus_bandwidth":{"bandwidth":471.6,"okay":"unchecked"}})";

TEST(NcclReport, tells_the_slower_way_and_all_that_was_wrong) {
  const auto report = parse_nccl_report(kNcclReport);
  ASSERT_TRUE(report) << report.error().what;
  ASSERT_EQ(report->rows.size(), 2U);
  EXPECT_EQ(report->rows[0].bytes, 1073741824U);
  EXPECT_EQ(report->rows[0].bus_bandwidth, 469.7);
  EXPECT_EQ(report->rows[0].algorithm_bandwidth, 268.4);
  EXPECT_EQ(report->rows[0].wrong, 0U);
  EXPECT_EQ(report->rows[1].wrong, 3U);
}

NcclReport::Row row_of(std::string_view ways) {
  const auto report = parse_nccl_report(R"({"results":[{"size":8,)" + std::string(ways) + "}]}");
  EXPECT_TRUE(report);
  return report ? report->rows[0] : NcclReport::Row{};
}

TEST(NcclReport, of_sums_that_nobody_checked_does_not_say_that_they_were_right) {
  for (const std::string_view wrong :
       {R"("nwrong":null)", R"("nwrong":"N/A")", R"("nwrong":"12")", R"("a":1)"}) {
    const std::string way = R"("in_place":{"alg_bw":1,"bus_bw":2,)" + std::string(wrong) + "}";
    const auto wrong_beside = [&way](std::string_view other) {
      std::string ways = R"("out_of_place":{"alg_bw":1,"bus_bw":2,"nwrong":)";
      return row_of(ways.append(other).append("},").append(way)).wrong;
    };
    EXPECT_EQ(row_of(way).wrong, std::nullopt) << wrong;
    EXPECT_EQ(wrong_beside("0"), std::nullopt) << wrong;
    EXPECT_EQ(wrong_beside("3"), 3U) << wrong;
  }
}

TEST(NcclReport, a_bandwidth_that_no_links_have_is_none) {
  const auto row =
      row_of(R"("in_place":{"alg_bw":1,"bus_bw":1e308,"nwrong":2},"out_of_place":{"bus_bw":7,"nwrong":0})");
  EXPECT_EQ(row.bus_bandwidth, 7);
  EXPECT_EQ(row.wrong, 2U);
}

TEST(NcclReport, that_is_none_is_refused_with_the_place) {
  const auto refused = [](std::string_view text) {
    const auto report = parse_nccl_report(text);
    return report ? "taken" : report.error().what;
  };
  EXPECT_THAT(refused(""), HasSubstr("report of all_reduce_perf"));
  EXPECT_THAT(refused("{}"), HasSubstr("`results` is not a list"));
  EXPECT_THAT(refused(R"({"results":[{"in_place":{}}]})"), HasSubstr("no `size`"));
  EXPECT_THAT(refused(R"({"results":[3]})"), HasSubstr("no `size`"));
  EXPECT_THAT(refused(kNcclReport.substr(0, 300)), HasSubstr("report of all_reduce_perf"));
}

}  // namespace
}  // namespace autopilot::host
