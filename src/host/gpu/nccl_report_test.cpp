// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nccl_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_THAT(refused("{}"), HasSubstr("`results` is no list"));
  EXPECT_THAT(refused(R"({"results":[{"in_place":{}}]})"), HasSubstr("no `size`"));
  EXPECT_THAT(refused(R"({"results":[3]})"), HasSubstr("no `size`"));
  EXPECT_THAT(refused(kNcclReport.substr(0, 300)), HasSubstr("report of all_reduce_perf"));
}

}  // namespace
}  // namespace autopilot::host
