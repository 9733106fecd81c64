// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::gpu {
namespace {

using testing::HasSubstr;
using testing::Not;

Report measured() {
  GpuReport gpu;
  gpu.tests.push_back({.test = "hbm",
                       .together = true,
                       .measured = {.series = {{.name = "copy", .unit = "GB/s", .samples = {3, 1, 2}}},
                                    .wrong = {},
                                    .facts = {{"bytes_of_a_buffer", 4096}}},
                       .skipped = {}});
  Report report;
  report.gpus.push_back(gpu);
  return report;
}

TEST(Report, samples_keep_their_order) {
  EXPECT_THAT(to_json(measured()),
              HasSubstr(R"("unit":"GB/s","best":3E0,"median":2E0,"samples":[3E0,1E0,2E0])"));
  EXPECT_THAT(to_json(measured()), HasSubstr(R"("scope":"together")"));
  EXPECT_THAT(to_json(measured()), HasSubstr(R"("bytes_of_a_buffer":4096)"));
}

TEST(Report, a_test_that_was_skipped_has_no_figures) {
  Report report = measured();
  report.gpus[0].tests[0].skipped = "needs a second GPU";
  EXPECT_THAT(to_json(report), HasSubstr(R"("skipped":"needs a second GPU"})"));
  EXPECT_THAT(to_json(report), Not(HasSubstr("samples")));
  EXPECT_EQ(exit_code_of(report), exit_not_measured) << "it did nothing else";
  report.gpus[0].tests.push_back(measured().gpus[0].tests[0]);
  EXPECT_EQ(exit_code_of(report), exit_measured);
}

TEST(Report, a_disagreement_of_kernels_is_not_a_wrong_result) {
  Report report = measured();
  EXPECT_THAT(to_json(report), Not(HasSubstr("disputed")));
  report.gpus[0].tests[0].measured.disputed = {{.where = "row 3", .count = 1, .detail = "4 instead of 7"}};
  EXPECT_THAT(to_json(report),
              HasSubstr(R"("wrong":[],"disputed":[{"where":"row 3","count":1,"detail":"4 instead of 7"}])"));
  EXPECT_EQ(exit_code_of(report), exit_measured);
}

TEST(Report, gpus_that_a_test_left_out_are_named) {
  Report report = measured();
  EXPECT_THAT(to_json(report), Not(HasSubstr("not_looked")));
  report.gpus[0].tests[0].measured.untested = {{.peer = "GPU-2", .why = "in use by 4200"}};
  EXPECT_THAT(to_json(report), HasSubstr(R"("not_looked":[{"peer":"GPU-2","why":"in use by 4200"}])"));
  EXPECT_EQ(exit_code_of(report), exit_measured) << "all permitted GPUs were measured";
}

TEST(Report, refused_kernels_are_reported) {
  Report report = measured();
  EXPECT_THAT(to_json(report), Not(HasSubstr("refused_kernels")));
  report.gpus[0].refused_kernels = "sm_90a: cuModuleLoadData: CUDA_ERROR_INVALID_PTX (218)";
  EXPECT_THAT(to_json(report), HasSubstr(R"("refused_kernels":"sm_90a: cuModuleLoadData)"));
}

TEST(Report, invalid_utf8_is_replaced) {
  Report report = measured();
  report.gpus[0].facts.name = "\xff";
  EXPECT_THAT(to_json(report), HasSubstr("\xef\xbf\xbd"));
}

TEST(Report, only_a_simulated_driver_is_called_so) {
  Report report = measured();
  EXPECT_THAT(to_json(report), Not(HasSubstr("simulated")));
  report.simulated = true;
  EXPECT_THAT(to_json(report), HasSubstr(R"("simulated":true)"));
}

TEST(Report, a_wrong_result_has_precedence_over_missing_measurements) {
  Report report = measured();
  EXPECT_EQ(exit_code_of(report), exit_measured);
  report.gpus.emplace_back().error = "cuCtxCreate_v2: CUDA_ERROR_UNKNOWN (999)";
  EXPECT_EQ(exit_code_of(report), exit_not_measured);
  report.gpus[0].tests[0].measured.wrong.push_back({.where = "multiprocessor 3", .count = 1, .detail = ""});
  EXPECT_EQ(exit_code_of(report), exit_wrong);
}

TEST(Report, without_a_driver_nothing_was_measured) {
  Report report;
  report.error = "no driver";
  EXPECT_EQ(exit_code_of(report), exit_not_measured);
  EXPECT_THAT(to_json(report), HasSubstr(R"("error":"no driver","gpus":[])"));
}

}  // namespace
}  // namespace autopilot::probes::gpu
