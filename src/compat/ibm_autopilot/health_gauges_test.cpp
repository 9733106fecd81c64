// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/health_gauges.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::compat::ibm_autopilot {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

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
  void look(const std::string& check, Observations observations, Findings findings = {}) {
    NodeSnapshot snapshot;
    CheckResult& result = snapshot.results.emplace_back();
    result.check = check;
    result.observations = std::move(observations);
    result.findings = std::move(findings);
    result.completed = now_;
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
  WallTime now_{1'700'000'000s};
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

TEST_F(HealthGaugesTest, a_test_of_dcgm_on_this_machine_counts_as_a_deep_test_does) {
  look("gpu.diagnosis", {word("deep_test.outcome", "off")});
  look("gpu.dcgm", {word("dcgm.result", "passed"), word("dcgm.result", "fatal")});
  EXPECT_THAT(all(), ElementsAre("dcgm/=1"));
  look("gpu.dcgm", {word("dcgm.result", "passed"), word("dcgm.result", "warned")});
  EXPECT_THAT(all(), ElementsAre("dcgm/=0"));
}

TEST_F(HealthGaugesTest, one_class_without_a_volume_is_enough) {
  look("storage.pvc", {word("pvc.outcome", "no_class")});
  EXPECT_THAT(all(), IsEmpty());
  look("storage.pvc", {word("pvc.outcome", "bound"), word("pvc.outcome", "not_bound")});
  EXPECT_THAT(all(), ElementsAre("pvc/=1"));
  look("storage.pvc", {word("pvc.outcome", "bound")});
  EXPECT_THAT(all(), ElementsAre("pvc/=0"));
}

TEST_F(HealthGaugesTest, bandwidth_is_what_was_measured_last) {
  look("gpu.pcie_bandwidth",
       {reading("pcie_bandwidth.host_to_device", 0, 55.0), reading("pcie_bandwidth.host_to_device", 1, 3.0)});
  look("gpu.pcie_bandwidth", {});
  EXPECT_THAT(all(), ElementsAre("pciebw/0=55", "pciebw/1=3"));
}

TEST_F(HealthGaugesTest, a_gpu_whose_number_is_known_later_has_one_series) {
  const auto measured = [](double rate) {
    Observation observation = reading("pcie_bandwidth.host_to_device", 1, rate);
    observation.subject.index.reset();
    return observation;
  };
  look("gpu.pcie_bandwidth", {measured(3.0)});
  EXPECT_THAT(all(), ElementsAre("pciebw/0000:11:00.0=3"));
  NodeSnapshot snapshot;
  snapshot.results = {
      {.check = "gpu.present",
       .observations = Observations{reading("gpu.model", 1, std::string("NVIDIA H100"))}},
      {.check = "gpu.pcie_bandwidth", .observations = Observations{measured(55.0)}},
  };
  gauges_.note(snapshot);
  EXPECT_THAT(all(), ElementsAre("pciebw/1=55"));
}

TEST_F(HealthGaugesTest, a_test_of_memory_that_failed_stays_1_until_one_passes) {
  Finding slow;
  slow.subject = reading("compute.daxpy", 1, 640.0).subject;
  slow.health = Health::degraded;
  look("gpu.compute", {reading("compute.daxpy", 0, 2890.0), reading("compute.daxpy", 1, 640.0)}, {slow});
  look("gpu.compute", {});
  EXPECT_THAT(all(), ElementsAre("gpumem/0=1"));
  look("gpu.compute", {reading("gpu.model", 0, std::string("NVIDIA H100 80GB HBM3"))});
  EXPECT_THAT(all(), ElementsAre("gpumem/0=1"));
  look("gpu.compute", {reading("compute.daxpy", 0, 2890.0)});
  EXPECT_THAT(all(), ElementsAre("gpumem/0=0"));
}

TEST_F(HealthGaugesTest, a_test_that_left_a_gpu_out_passed_nobody) {
  Finding unread;
  unread.health = Health::unknown;
  look("gpu.compute", {reading("compute.daxpy", 0, 2890.0)}, {unread});
  look("gpu.dcgm", {reading("dcgm.result", 0, std::string("passed"))}, {unread});
  EXPECT_THAT(all(), IsEmpty());
  look("gpu.compute", {reading("compute.daxpy", 0, 2890.0)});
  look("gpu.dcgm", {reading("dcgm.result", 0, std::string("passed"))});
  EXPECT_THAT(all(), ElementsAre("dcgm/=0", "gpumem/0=0"));
  Finding slow = unread;
  slow.health = Health::degraded;
  look("gpu.compute", {reading("compute.daxpy", 0, 640.0)}, {unread, slow});
  look("gpu.dcgm", {reading("dcgm.result", 0, std::string("failed"))}, {unread});
  EXPECT_THAT(all(), ElementsAre("dcgm/=1", "gpumem/0=1"));
}

Observation asked_observation(const std::string& node, std::int64_t silent) {
  Observation observation;
  observation.name = "ping.silent";
  observation.subject = {SubjectKind::peer, node, std::nullopt, "", ""};
  observation.value = silent;
  return observation;
}

TEST_F(HealthGaugesTest, nodes_are_those_asked_last_and_those_silent_within_the_hour) {
  look("network.ping", {word("ping.outcome", "ended"), asked_observation("a", 0), asked_observation("b", 2),
                        asked_observation("c", 0)});
  EXPECT_THAT(all(), ElementsAre("ping/a=0", "ping/b=1", "ping/c=0"));
  now_ += 59min;
  look("network.ping", {word("ping.outcome", "ended"), asked_observation("d", 0)});
  EXPECT_THAT(all(), ElementsAre("ping/b=1", "ping/d=0"));
  look("network.ping", {});
  EXPECT_THAT(all(), ElementsAre("ping/b=1", "ping/d=0"));
  now_ += 1min;
  look("network.ping", {word("ping.outcome", "ended"), asked_observation("d", 0)});
  EXPECT_THAT(all(), ElementsAre("ping/d=0"));
}

TEST_F(HealthGaugesTest, a_node_that_answered_before_it_went_was_not_silent) {
  look("network.ping", {word("ping.outcome", "ended"), asked_observation("a", 0), asked_observation("b", 2)});
  now_ += 10min;
  look("network.ping", {word("ping.outcome", "ended"), asked_observation("a", 0), asked_observation("b", 0)});
  now_ += 10min;
  look("network.ping", {word("ping.outcome", "ended"), asked_observation("a", 0)});
  EXPECT_THAT(all(), ElementsAre("ping/a=0"));
}

// In each round others are asked, and series of all pairs would be left behind.
TEST_F(HealthGaugesTest, of_many_nodes_there_are_those_alone_that_do_not_answer) {
  const auto ended = [](std::int64_t others) {
    Observation outcome = word("ping.outcome", "ended");
    outcome.attributes = {{"others", others}};
    return outcome;
  };
  look("network.ping", {ended(64), asked_observation("a", 0), asked_observation("b", 1)});
  EXPECT_THAT(all(), ElementsAre("ping/a=0", "ping/b=1"));
  look("network.ping", {ended(65), asked_observation("a", 0), asked_observation("b", 1)});
  EXPECT_THAT(all(), ElementsAre("ping/b=1"));
  look("network.ping", {ended(65), asked_observation("b", 0)});
  EXPECT_THAT(all(), IsEmpty());
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
