// SPDX-License-Identifier: Apache-2.0
#include "runtime/shadow.hpp"

#include <gtest/gtest.h>

#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::runtime {
namespace {

constexpr std::string_view kShadowed = "gpu.memory_bandwidth.peak_share";

class ShadowTest : public testing::Test {
 protected:
  ShadowTest() {
    checks::ObservationBuilder builder({});
    for (const auto& [key, rate] : {std::pair("0000:01:00.0", 2600.0), std::pair("0000:02:00.0", 2700.0)}) {
      const Subject gpu = checks::make_subject(SubjectKind::gpu, key);
      builder.add(gpu, "memory_bandwidth.copy", checks::kProbe, rate, "gigabytes_per_second");
      builder.add(gpu, checks::kGpuModel, checks::kProbe, std::string("NVIDIA H100 80GB HBM3"));
    }
    builder.add(host_subject(), "memory_bandwidth.outcome", checks::kProbe, std::string("measured"));
    Observations observations = builder.take();
    checks::note_tested(observations);
    history_.add(std::move(observations), std::chrono::minutes{10});
  }

  [[nodiscard]] ShadowDifferences judged_with(double share,
                                              const std::string& check = "gpu.memory_bandwidth") {
    const checks::Check& judge = *checks::find_check(check);
    const Findings found = judge.judge(input_);
    judge_in_shadow(judge, input_, found, {{std::string(kShadowed), {share, "v1"}}}, differences_);
    return differences_;
  }

  History history_;
  Expectation expectation_;
  LearnedLimits learned_;
  checks::JudgeInput input_{{}, history_, catalog::builtin(), expectation_, &learned_};
  ShadowDifferences differences_;
};

TEST_F(ShadowTest, counts_the_findings_that_a_version_would_add) {
  const auto found = judged_with(0.79);  // of 3350 GB/s
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at({"v1", "gpu.memory_bandwidth"}), (ShadowDifference{1, 0}));
}

TEST_F(ShadowTest, counts_the_findings_that_a_version_would_end) {
  learned_[std::string(kShadowed)] = {0.9, "v0"};
  EXPECT_EQ(judged_with(0.7).at({"v1", "gpu.memory_bandwidth"}), (ShadowDifference{0, 2}));
}

TEST_F(ShadowTest, finds_no_difference_below_the_operators_own_value) {
  expectation_.thresholds[std::string(kShadowed)] = 0.5;
  EXPECT_EQ(judged_with(0.9).at({"v1", "gpu.memory_bandwidth"}), ShadowDifference{});
}

TEST_F(ShadowTest, judges_only_checks_of_diagnostics) {
  EXPECT_TRUE(judged_with(0.9, "gpu.ecc").empty());
}

}  // namespace
}  // namespace autopilot::runtime
