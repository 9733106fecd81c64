// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/nccl_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::nettest {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kId(256, 'a');

TEST(NcclProbe, all_say_how_many_ranks_there_are_and_one_that_joins_which_are_its_own) {
  const AllReduceEnd end{.address = "10.2.0.7", .gpus = 8, .ranks = 24, .seconds = 3};
  EXPECT_THAT(command_of("/probe", AllReduceServer{end}).arguments,
              ElementsAre("nccl-serve", "--bind", "10.2.0.7", "--count", "8", "--ranks", "24", "--seconds",
                          "3", "--patience", "20", "--require-idle"));
  EXPECT_THAT(command_of("/probe", AllReduceTest{end, 16, kId}).arguments,
              ElementsAre("nccl-measure", "--id", "-", "--first", "16", "--bind", "10.2.0.7", "--count", "8",
                          "--ranks", "24", "--seconds", "3", "--patience", "20", "--require-idle"));
}

TEST(NcclProbe, gpus_of_amd_are_asked_for_by_name) {
  AllReduceEnd end;
  EXPECT_THAT(command_of("/probe", AllReduceServer{end}).arguments, Not(Contains("--vendor")));
  end.vendor = host::GpuVendor::amd;
  EXPECT_EQ(command_of("/probe", AllReduceServer{end}).arguments.back(), "amd");
  EXPECT_THAT(command_of("/probe", AllReduceTest{end, 8, kId}).arguments, Contains("--vendor"));
}

TEST(NcclProbe, the_id_is_no_argument_and_comes_from_nobody_else) {
  ::setenv("AUTOPILOT_NCCL_ID", "somebody's", 1);
  const host::Command server = command_of("/probe", AllReduceServer{});
  const host::Command test = command_of("/probe", AllReduceTest{{}, 8, kId});
  ::unsetenv("AUTOPILOT_NCCL_ID");
  EXPECT_THAT(server.environment, Not(Contains(StartsWith("AUTOPILOT_NCCL_ID="))));
  EXPECT_THAT(test.environment, Contains("AUTOPILOT_NCCL_ID=" + kId));
  EXPECT_THAT(test.environment, Contains(StartsWith("AUTOPILOT_NCCL_ID=")).Times(1));
  EXPECT_THAT(test.arguments, Not(Contains(kId)));
}

TEST(NcclProbe, what_would_show_it_other_gpus_is_kept_from_it) {
  for (const char* chooses : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    ::setenv(chooses, "", 1);
    const auto environment = command_of("/probe", AllReduceServer{}).environment;
    ::unsetenv(chooses);
    EXPECT_THAT(environment, Not(Contains(StartsWith(chooses))));
  }
}

TEST(NcclProbe, a_server_tells_whom_to_join_or_why_nobody_can) {
  EXPECT_EQ(
      parse_nccl_id(R"({"program":"autopilot-gpu-probe","format":1,"id":")" + kId + R"(","gpus":8})").value(),
      kId);
  const auto refused = parse_nccl_id(R"({"reason":"busy","error":"gpu 3: process 4711 is on it"})");
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(refused.error().what, "gpu 3: process 4711 is on it");
  for (const std::string& line :
       {std::string(), std::string("{}"), std::string("[]"), std::string(R"({"id":7})"),
        R"({"id":")" + std::string(255, 'a') + R"("})", R"({"id":")" + std::string(255, 'a') + R"( "})"})
    EXPECT_EQ(parse_nccl_id(line).error().code, Errc::malformed) << line;
}

TEST(NcclProbe, a_report_is_a_figure_or_a_reason) {
  const auto report = parse_all_reduce(
      R"({"ranks":16,"bytes":268435456,"bus_bits_per_second":3.2e12,"samples":[3.1e12,3.3e12,"x",-1]})");
  ASSERT_TRUE(report) << report.error().what;
  const AllReduce measured = report->measured.value_or(AllReduce{});
  EXPECT_EQ(measured.bus, 3.2e12);
  EXPECT_THAT(measured.samples, ElementsAre(3.1e12, 3.3e12));
  const auto reason = parse_all_reduce(R"({"reason":"no_library","error":"libnccl.so.2 is not there"})");
  ASSERT_TRUE(reason) << reason.error().what;
  EXPECT_FALSE(reason->measured);
  EXPECT_EQ(reason->reason, "no_library");
}

TEST(NcclProbe, a_wrong_sum_names_its_first_rank) {
  const auto rank_of = [](const std::string& number) {
    return parse_all_reduce(R"({"reason":"wrong_result","error":"x","wrong_rank":)" + number + "}")
        .value()
        .wrong_rank;
  };
  EXPECT_EQ(rank_of("0"), 0);
  EXPECT_EQ(rank_of("4095"), 4095);
  for (const std::string text : {"4096", "-1", "1.5", "99999999999999999999", R"("3")", "null"})
    EXPECT_EQ(rank_of(text), std::nullopt) << text;
  EXPECT_EQ(parse_all_reduce(R"({"reason":"busy"})").value().wrong_rank, std::nullopt);
}

TEST(NcclProbe, a_report_without_both_is_none) {
  for (const std::string text :
       {"", "7", "{}", R"({"bus_bits_per_second":"fast"})", R"({"bus_bits_per_second":0})",
        R"({"bus_bits_per_second":-1})", R"({"bus_bits_per_second":1e99})", R"({"reason":""})"})
    EXPECT_THAT(parse_all_reduce(text).error().what, HasSubstr("report of autopilot-gpu-probe")) << text;
  EXPECT_FALSE(parse_all_reduce(R"({"bus_bits_per_second":1})" + std::string(kMaxNcclProbeReport, ' ')));
}

}  // namespace
}  // namespace autopilot::nettest
