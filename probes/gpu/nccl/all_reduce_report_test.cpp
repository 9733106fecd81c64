// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/all_reduce_report.hpp"

#include <gtest/gtest.h>

#include "probes/gpu/run/exit_code.hpp"

namespace autopilot::probes::gpu {
namespace {

AllReduceReport measured() {
  AllReduceReport report;
  report.address = "10.0.0.2";
  report.nccl_version = "2.21.5";
  report.ranks = 16;
  report.gpus = 8;
  report.figures = {.bytes = 268435456,
                    .iterations = 20,
                    .seconds = 0.5,
                    .algorithm_bits_per_second = 85899345920.4,
                    .bus_bits_per_second = 161061273600,
                    .samples = {1e11, 2e11}};
  return report;
}

TEST(AllReduceReport, figures_are_whole_bits) {
  EXPECT_EQ(to_json(measured()),
            R"({"program":"autopilot-gpu-probe","format":1,"simulated":false,"address":"10.0.0.2",)"
            R"("nccl_version":"2.21.5","ranks":16,"gpus":8,"bytes":268435456,"iterations":20,"seconds":5E-1,)"
            R"("bus_bits_per_second":161061273600,"algorithm_bits_per_second":85899345920,)"
            R"("samples":[100000000000,200000000000]})");
  EXPECT_EQ(exit_code_of(measured()), exit_measured);
}

TEST(AllReduceReport, a_reason_stands_in_the_place_of_figures) {
  AllReduceReport report = measured();
  report.failure = {Reason::peer_vanished, "rank \xff is gone"};
  EXPECT_EQ(to_json(report),
            R"({"program":"autopilot-gpu-probe","format":1,"simulated":false,"address":"10.0.0.2",)"
            R"("nccl_version":"2.21.5","ranks":16,"gpus":8,"reason":"peer_vanished",)"
            "\"error\":\"rank \xef\xbf\xbd is gone\"}");
  EXPECT_EQ(exit_code_of(report), exit_not_looked);
}

TEST(AllReduceReport, only_what_is_known_is_told) {
  AllReduceReport report;
  report.ranks = 2;
  report.simulated = true;
  report.failure = {Reason::no_driver, "none"};
  EXPECT_EQ(to_json(report), R"({"program":"autopilot-gpu-probe","format":1,"simulated":true,"ranks":2,)"
                             R"("reason":"no_driver","error":"none"})");
}

TEST(AllReduceReport, a_wrong_result_has_a_code_of_its_own) {
  AllReduceReport report = measured();
  report.failure = {Reason::wrong_result, "gpu 3"};
  EXPECT_EQ(to_json(report).find("wrong_rank"), std::string::npos);
  report.wrong_rank = 0;
  EXPECT_TRUE(to_json(report).ends_with(R"("reason":"wrong_result","error":"gpu 3","wrong_rank":0})"));
  EXPECT_EQ(exit_code_of(report), exit_wrong);
}

TEST(AllReduceReport, a_version_is_that_of_the_library_that_was_asked) {
  AllReduceReport report = measured();
  report.vendor = Vendor::amd;
  for (const std::string& text : {to_json(report), to_invitation(report, "0f")}) {
    EXPECT_NE(text.find(R"("rccl_version":"2.21.5")"), std::string::npos) << text;
    EXPECT_EQ(text.find("nccl"), std::string::npos) << text;
  }
}

TEST(AllReduceReport, an_invitation_has_what_others_need) {
  EXPECT_EQ(to_invitation(measured(), "0f"),
            R"({"program":"autopilot-gpu-probe","format":1,"simulated":false,"id":"0f","gpus":8,)"
            R"("nccl_version":"2.21.5"})");
}

}  // namespace
}  // namespace autopilot::probes::gpu
