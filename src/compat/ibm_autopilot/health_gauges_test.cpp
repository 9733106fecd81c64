// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/health_gauges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::compat::ibm_autopilot {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Observation reading(const std::string& name, int gpu, Value value) {
  Observation observation;
  observation.name = name;
  observation.subject = {SubjectKind::gpu, "0000:" + std::to_string(10 + gpu) + ":00.0", gpu, "", ""};
  observation.value = std::move(value);
  return observation;
}

Observation word(const std::string& name, const std::string& value) {
  Observation observation;
  observation.name = name;
  observation.value = value;
  return observation;
}

class HealthGaugesTest : public ::testing::Test {
 protected:
  void look(const std::string& check, Observations observations) {
    NodeSnapshot snapshot;
    CheckResult& result = snapshot.results.emplace_back();
    result.check = check;
    result.observations = std::move(observations);
    gauges_.note(snapshot);
  }
  // "remapped/3=1"
  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> texts;
    for (const HealthGauge& gauge : gauges_.all()) {
      std::string text = gauge.health;
      text.append("/")
          .append(gauge.device_id)
          .append("=")
          .append(std::to_string(static_cast<int>(gauge.value)));
      texts.push_back(std::move(text));
    }
    return texts;
  }

  HealthGauges gauges_;
};

TEST_F(HealthGaugesTest, a_row_remap_that_waits_or_failed_is_1_of_its_gpu) {
  look("gpu.row_remap", {reading("row_remap.pending", 0, false), reading("row_remap.failed", 0, false),
                         reading("row_remap.pending", 1, true), reading("row_remap.failed", 1, false),
                         reading("row_remap.pending", 2, false), reading("row_remap.failed", 2, true)});
  EXPECT_THAT(all(), ElementsAre("remapped/0=0", "remapped/1=1", "remapped/2=1"));
}

TEST_F(HealthGaugesTest, what_could_not_be_read_keeps_the_value_of_before) {
  look("gpu.throttle", {reading("clocks.hw_slowdown", 0, true), reading("clocks.hw_slowdown", 1, true)});
  Observation silent = reading("clocks.hw_slowdown", 0, false);
  silent.value.reset();
  look("gpu.throttle", {silent, reading("clocks.hw_slowdown", 1, false)});
  EXPECT_THAT(all(), ElementsAre("power-slowdown/0=1", "power-slowdown/1=0"));
  look("gpu.throttle", {});
  EXPECT_THAT(all(), ElementsAre("power-slowdown/0=1", "power-slowdown/1=0"));
}

TEST_F(HealthGaugesTest, a_deep_test_that_said_nothing_leaves_no_series) {
  look("gpu.diagnosis", {word("deep_test.outcome", "off")});
  EXPECT_THAT(all(), IsEmpty());
  look("gpu.diagnosis", {word("deep_test.outcome", "passed")});
  EXPECT_THAT(all(), ElementsAre("dcgm/=0"));
  look("gpu.diagnosis", {word("deep_test.outcome", "fatal")});
  EXPECT_THAT(all(), ElementsAre("dcgm/=1"));
}

TEST_F(HealthGaugesTest, one_class_without_a_volume_is_enough) {
  look("storage.pvc", {word("pvc.outcome", "no_class")});
  EXPECT_THAT(all(), IsEmpty());
  look("storage.pvc", {word("pvc.outcome", "bound"), word("pvc.outcome", "not_bound")});
  EXPECT_THAT(all(), ElementsAre("pvc/=1"));
  look("storage.pvc", {word("pvc.outcome", "bound")});
  EXPECT_THAT(all(), ElementsAre("pvc/=0"));
}

TEST_F(HealthGaugesTest, the_model_is_that_of_the_first_gpu) {
  EXPECT_EQ(gauges_.gpu_model(), "N/A");
  look("gpu.present", {reading("gpu.model", 1, std::string("NVIDIA H100")),
                       reading("gpu.model", 0, std::string("NVIDIA A100"))});
  EXPECT_EQ(gauges_.gpu_model(), "NVIDIA A100");
}

TEST(CpuModel, loses_its_first_brackets_alone) {
  EXPECT_EQ(cpu_model("Intel(R) Xeon(R) Silver 4114"), "IntelR Xeon(R) Silver 4114");
  EXPECT_EQ(cpu_model("AMD EPYC 7742"), "AMD EPYC 7742");
  EXPECT_EQ(cpu_model(""), "");
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
