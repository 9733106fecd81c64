// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/telemetry.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/clock/system_clock.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "host/gpu/readings.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host::telemetry_test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

GpuTelemetry example() {
  GpuTelemetry telemetry;
  telemetry.calls = 12;
  GpuSample& gpu = telemetry.gpus.emplace_back();
  gpu.index = 3;
  gpu.address = "0000:3b:00.0";
  gpu.model = "H100 SXM";
  gpu[GpuMeasure::power_w] = 612.5;
  gpu[GpuMeasure::clocks_reasons] = 0x84;
  gpu[GpuMeasure::nvlink_bytes] = 9e15;
  return telemetry;
}

TEST(GpuTelemetry, arrives_as_it_was_sent) {
  const auto telemetry = parse_gpu_telemetry(format_gpu_telemetry(example()));
  ASSERT_TRUE(telemetry) << telemetry.error().what;
  EXPECT_EQ(telemetry->state, DriverState::ok);
  EXPECT_EQ(telemetry->calls, 12U);
  ASSERT_EQ(telemetry->gpus.size(), 1U);
  const GpuSample& gpu = telemetry->gpus.front();
  EXPECT_EQ(gpu.index, 3);
  EXPECT_EQ(gpu.address, "0000:3b:00.0");
  EXPECT_EQ(gpu.model, "H100 SXM");
  EXPECT_EQ(gpu.state, GpuState::ok);
  EXPECT_EQ(gpu[GpuMeasure::power_w], 612.5);
  EXPECT_EQ(gpu[GpuMeasure::clocks_reasons], 0x84);
  EXPECT_EQ(gpu[GpuMeasure::nvlink_bytes], 9e15);
  EXPECT_TRUE(std::isnan(gpu[GpuMeasure::ecc_corrected])) << "a value that was not measured became a number";
}

TEST(GpuTelemetry, a_helper_of_another_release_is_understood) {
  const auto telemetry = parse_gpu_telemetry(
      R"({"state":"ok","detail":"","calls":1,"later":[1],"measures":["quantumFlux","powerW"],)"
      R"("gpus":[{"index":0,"address":"a","model":"m","state":"dreaming","values":[7,70],"more":{}}]})");
  ASSERT_TRUE(telemetry) << telemetry.error().what;
  EXPECT_EQ(telemetry->gpus.at(0)[GpuMeasure::power_w], 70);
  EXPECT_TRUE(std::isnan(telemetry->gpus.at(0)[GpuMeasure::sm_clock_mhz]));
  EXPECT_NE(telemetry->gpus.at(0).state, GpuState::ok);
}

TEST(GpuTelemetry, a_lying_helper_is_refused) {
  const auto problem = [](std::string_view gpus) {
    const auto parsed = parse_gpu_telemetry(
        R"({"state":"ok","detail":"","calls":1,"measures":["powerW"],"gpus":)" + std::string(gpus) + "}");
    return parsed ? std::string("accepted") : parsed.error().what;
  };
  const std::string gpu = R"({"index":0,"address":"a","model":"m","state":"ok","values":[1]})";
  EXPECT_EQ(problem("[" + gpu + "]"), "accepted");
  EXPECT_THAT(problem("[" + gpu + "," + gpu + "]"), HasSubstr("GPU 0 appears twice"));
  EXPECT_THAT(problem(R"([{"index":64,"address":"a","model":"m","state":"ok","values":[1]}])"),
              HasSubstr("index"));
  EXPECT_THAT(problem(R"([{"index":0,"address":"a","model":"m","state":"ok","values":[1,2]}])"),
              HasSubstr("values"));
  EXPECT_THAT(problem(R"([{"index":0,"address":"a","model":"m","state":"ok","values":[-1]}])"),
              HasSubstr("measure"));
  EXPECT_THAT(problem(R"([{"index":0,"address":"a","model":"m","state":"ok","values":["1"]}])"),
              HasSubstr("measure"));
  EXPECT_THAT(problem("7"), HasSubstr("gpus"));
  std::string many = "[";
  for (int i = 0; i < 65; ++i)
    many += (i == 0 ? "" : ",") + gpu;
  EXPECT_THAT(problem(many + "]"), HasSubstr("too long"));
  for (const char* text : {"", "{", "[]", "null", "{\"state\":\"ok\"}", "\xff\xfe"})
    EXPECT_FALSE(parse_gpu_telemetry(text)) << text;
  EXPECT_FALSE(parse_gpu_telemetry(std::string((1U << 20U) + 1, ' ')));
}

TEST(GpuTelemetry, is_made_from_the_readings_of_a_driver_without_its_own) {
  GpuReport report;
  GpuDevice& gpu = report.gpus.emplace_back();
  gpu.subject.index = 1;
  gpu.readings = {{std::string(reading::kPowerUsage), {}, Value{250.0}, 0},
                  {std::string(reading::kClocksSm), {}, Value{std::int64_t{2100}}, 0},
                  {std::string(reading::kUtilization), {}, std::nullopt, 3}};
  report.gpus.emplace_back();  // of unknown index
  const GpuTelemetry telemetry = telemetry_of(report);
  ASSERT_EQ(telemetry.gpus.size(), 1U);
  EXPECT_EQ(telemetry.gpus[0].index, 1);
  EXPECT_EQ(telemetry.gpus[0][GpuMeasure::power_w], 250);
  EXPECT_EQ(telemetry.gpus[0][GpuMeasure::sm_clock_mhz], 2100);
  EXPECT_TRUE(std::isnan(telemetry.gpus[0][GpuMeasure::utilization]));
}

class TelemetryOfHelper : public testing::Test {
 protected:
  // The real helper code in a process of its own, over a fake library; `conduct` is FAKE_NVML.
  [[nodiscard]] static Command helper(const std::string& conduct) {
    Command command{.program = paths::fake("fake_helper"),
                    .arguments = {"nvml", "--library", paths::fake("fake_nvml.so")},
                    .environment = own_environment()};
    command.environment.push_back("FAKE_NVML=" + conduct);
    return command;
  }
  [[nodiscard]] MonoTime in(Duration duration) const { return clock_.now().mono + duration; }

  SystemClock clock_;
  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(TelemetryOfHelper, answers_for_all_gpus_at_once) {
  const HelperGpus gpus(GpuVendor::nvidia, helper(""), clock_, GpuScan(files_));
  const auto telemetry = gpus.read_telemetry(TelemetryDetail::detailed, in(20s));
  ASSERT_TRUE(telemetry) << telemetry.error().what;
  EXPECT_EQ(telemetry->state, DriverState::ok) << telemetry->detail;
  ASSERT_EQ(telemetry->gpus.size(), 3U);
  EXPECT_EQ(telemetry->gpus[2].index, 2);
  EXPECT_EQ(telemetry->gpus[2][GpuMeasure::temperature_c], 42);
  EXPECT_TRUE(std::isnan(telemetry->gpus[2][GpuMeasure::power_w])) << "the library has no such function";
  EXPECT_EQ(gpus.driver_calls(), telemetry->calls);
  const auto brief = gpus.read_telemetry(TelemetryDetail::brief, in(20s));
  ASSERT_TRUE(brief);
  EXPECT_LT(brief->calls, telemetry->calls);
  EXPECT_EQ(brief->gpus.size(), 3U);
}

TEST_F(TelemetryOfHelper, a_driver_that_hangs_is_not_called_again_at_once) {
  const HelperGpus gpus(GpuVendor::nvidia, helper("hang"), clock_, GpuScan(files_));
  const MonoTime before = clock_.now().mono;
  const auto first = gpus.read_telemetry(TelemetryDetail::brief, in(600ms));
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->state, DriverState::unresponsive) << first->detail;
  EXPECT_TRUE(first->gpus.empty());
  const auto second = gpus.read_telemetry(TelemetryDetail::brief, in(20s));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->state, DriverState::unresponsive);
  EXPECT_LT(clock_.now().mono - before, HelperGpus::kPause) << "it waited for a driver known to hang";
}

}  // namespace
}  // namespace autopilot::host::telemetry_test
