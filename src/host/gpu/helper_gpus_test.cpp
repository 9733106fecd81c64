// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/helper_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "host/clock/system_clock.hpp"
#include "host/gpu/readings.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

const std::vector<GpuGroup> kTemperature{GpuGroup::temperature};

// The real helper code in a process of its own, over the fake library; `conduct` is FAKE_NVML.
Command nvml_helper(const std::string& conduct) {
  Command command{.program = paths::fake("fake_helper"),
                  .arguments = {"nvml", "--library", paths::fake("fake_nvml.so")},
                  .environment = own_environment()};
  command.environment.push_back("FAKE_NVML=" + conduct);
  return command;
}

Command helper(const std::string& kind) {
  return {.program = paths::fake("fake_helper"), .arguments = {kind}, .environment = own_environment()};
}

class HelperGpusTest : public testing::Test {
 protected:
  [[nodiscard]] MonoTime in(Duration duration) const { return clock_.now().mono + duration; }

  SystemClock clock_;
  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(HelperGpusTest, reads_through_another_process) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper(""), clock_, GpuScan(files_));
  const auto report = gpus.read(kTemperature, in(20s));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->state, DriverState::ok) << report->detail;
  ASSERT_EQ(report->gpus.size(), 3U);
  EXPECT_EQ(report->gpus[2].find(reading::kTemperatureGpu)->value, Value{std::int64_t{42}});
  EXPECT_GT(report->time.mono, MonoTime{});
  EXPECT_EQ(gpus.driver_calls(), report->calls);

  const auto events = gpus.take_events(in(20s));
  ASSERT_TRUE(events) << events.error().what;
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->front().code, 79);
}

TEST_F(HelperGpusTest, equal_questions_in_a_row_are_asked_once) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper(""), clock_, GpuScan(files_));
  ASSERT_TRUE(gpus.read({GpuGroup::temperature, GpuGroup::pcie}, in(20s)));
  const std::uint64_t calls = gpus.driver_calls();
  const auto again = gpus.read(kTemperature, in(20s));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->gpus.size(), 3U);
  EXPECT_EQ(again->calls, 0U);
  EXPECT_NE(again->gpus[0].find(reading::kTemperatureGpu), nullptr);
  EXPECT_EQ(again->gpus[0].find(reading::kPcieWidth), nullptr) << "asked for by somebody else";
  EXPECT_EQ(gpus.driver_calls(), calls);
  ASSERT_TRUE(gpus.read({GpuGroup::ecc}, in(20s)));
  EXPECT_GT(gpus.driver_calls(), calls);
}

// Which check asks first is chance; what a check is told is not.
TEST_F(HelperGpusTest, a_shared_answer_holds_what_a_question_of_its_own_would) {
  const auto names_in = [](const Result<GpuReport>& report) {
    std::vector<std::string> names;
    if (report && !report->gpus.empty())
      for (const GpuReading& one : report->gpus.back().readings)
        names.emplace_back(one.name);
    std::ranges::sort(names);
    return names;
  };
  for (const GpuGroup group : {GpuGroup::identity, GpuGroup::clocks, GpuGroup::pcie, GpuGroup::processes}) {
    const HelperGpus alone(GpuVendor::nvidia, nvml_helper(""), clock_, GpuScan(files_));
    const HelperGpus shared(GpuVendor::nvidia, nvml_helper(""), clock_, GpuScan(files_));
    ASSERT_TRUE(
        shared.read({GpuGroup::identity, GpuGroup::clocks, GpuGroup::pcie, GpuGroup::processes}, in(20s)));
    EXPECT_EQ(names_in(shared.read({group}, in(20s))), names_in(alone.read({group}, in(20s))));
  }
}

TEST_F(HelperGpusTest, gpus_of_the_pci_tree_are_asked_for_by_address) {
  for (const char* address : {"0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0"}) {
    const std::string folder = std::string("/sys/bus/pci/devices/") + address;
    folder_.write(folder + "/vendor", "0x10de\n");
    folder_.write(folder + "/device", "0x2330\n");
    folder_.write(folder + "/class", "0x030200\n");
  }
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper("handle1=15"), clock_, GpuScan(files_));
  const auto report = gpus.read(kTemperature, in(20s));
  ASSERT_TRUE(report);
  ASSERT_EQ(report->gpus.size(), 3U);
  EXPECT_EQ(report->gpus[2].subject.key, "0000:1c:00.0");
  EXPECT_EQ(report->gpus[2].state, GpuState::lost);
}

TEST_F(HelperGpusTest, a_hanging_call_is_an_unresponsive_driver_and_is_named) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper("hang"), clock_, GpuScan(files_));
  const auto report = gpus.read(kTemperature, in(2s));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, DriverState::unresponsive);
  EXPECT_THAT(report->detail, HasSubstr("nvmlDeviceGetCount_v2 has not returned"));
  EXPECT_EQ(gpus.stats().starts, 1U);

  const MonoTime before = clock_.now().mono;
  const auto next = gpus.read({GpuGroup::ecc}, in(20s));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->state, DriverState::unresponsive);
  EXPECT_LT(clock_.now().mono - before, HelperGpus::kPause) << "it waited for a driver known to hang";
  EXPECT_FALSE(gpus.take_events(in(20s)));
}

TEST_F(HelperGpusTest, callers_waiting_for_a_hanging_question_share_its_answer) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper("hang"), clock_, GpuScan(files_));
  std::vector<std::jthread> callers;
  std::array<DriverState, 4> states{};
  const MonoTime before = clock_.now().mono;
  for (DriverState& state : states)
    callers.emplace_back([&gpus, &state, deadline = in(3s)] {
      state = gpus.read({GpuGroup::identity}, deadline).value().state;
    });
  callers.clear();
  for (const DriverState state : states)
    EXPECT_EQ(state, DriverState::unresponsive);
  EXPECT_LT(clock_.now().mono - before, 10s) << "one after the other would take four deadlines";
}

TEST_F(HelperGpusTest, a_library_that_ends_the_process_is_a_crash) {
  const HelperGpus gpus(GpuVendor::nvidia, nvml_helper("abort"), clock_, GpuScan(files_));
  const auto report = gpus.read(kTemperature, in(20s));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, DriverState::crashed);
  EXPECT_FALSE(report->detail.empty());
}

TEST_F(HelperGpusTest, a_helper_that_lies_or_dies_is_a_crash) {
  for (const char* kind : {"lies_about_gpus", "dies_at_once"}) {
    const HelperGpus gpus(GpuVendor::nvidia, helper(kind), clock_, GpuScan(files_));
    const auto report = gpus.read(kTemperature, in(20s));
    ASSERT_TRUE(report) << kind;
    EXPECT_EQ(report->state, DriverState::crashed) << kind;
    EXPECT_FALSE(report->detail.empty()) << kind;
  }
}

TEST_F(HelperGpusTest, a_program_that_cannot_be_started_is_an_error) {
  const HelperGpus gpus(GpuVendor::nvidia, {.program = "/nonexistent", .arguments = {}, .environment = {}},
                        clock_, GpuScan(files_));
  EXPECT_FALSE(gpus.read(kTemperature, in(5s)));
}

TEST(NoGpus, says_that_there_is_no_library) {
  const NoGpus gpus(DriverState::library_missing, "the tree has no nvml.yaml");
  const auto report = gpus.read(kTemperature, MonoTime{});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, DriverState::library_missing);
  EXPECT_EQ(report->detail, "the tree has no nvml.yaml");
  EXPECT_FALSE(gpus.take_events(MonoTime{})) << "silence would pass for health";
}

GpuReport example() {
  GpuReport report;
  report.detail = "text";
  report.library_path = "/usr/lib/libnvidia-ml.so.1";
  report.driver_version = "535.161.08";
  report.calls = 17;
  GpuDevice gpu;
  gpu.subject = {SubjectKind::gpu, "0000:1b:00.0", 0, "GPU-1", "165"};
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.readings = {{"row_remap.pending", std::nullopt, Value{true}, 0},
                  {"power.usage", std::nullopt, Value{71.5}, 0},
                  {"nvlink.active", 17, Value{false}, 0},
                  {"nvlink.remote", 17, Value{std::string("0000:05:00.0")}, 0},
                  {"ecc.enabled", std::nullopt, std::nullopt, 3}};
  gpu.instances = {{.gpu_instance = 5, .compute_instance = 0, .uuid = "MIG-1"},
                   {.gpu_instance = 5, .compute_instance = 1, .uuid = "MIG-2"}};
  report.gpus.push_back(gpu);
  GpuDevice lost;
  lost.subject = {SubjectKind::gpu, "index-3", 3, "", ""};
  lost.state = GpuState::lost;
  report.gpus.push_back(lost);
  return report;
}

TEST(GpuReport, is_read_back_as_it_was_written) {
  const GpuReport report = example();
  const auto read = parse_gpu_report(format_gpu_report(report));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->state, report.state);
  EXPECT_EQ(read->driver_version, report.driver_version);
  EXPECT_EQ(read->calls, 17U);
  ASSERT_EQ(read->gpus.size(), 2U);
  EXPECT_EQ(read->gpus[0].subject, report.gpus[0].subject);
  EXPECT_EQ(read->gpus[0].subject.uuid, "GPU-1");
  EXPECT_EQ(read->gpus[0].name, report.gpus[0].name);
  ASSERT_EQ(read->gpus[0].readings.size(), report.gpus[0].readings.size());
  for (std::size_t i = 0; i < report.gpus[0].readings.size(); ++i) {
    EXPECT_EQ(read->gpus[0].readings[i].name, report.gpus[0].readings[i].name);
    EXPECT_EQ(read->gpus[0].readings[i].link, report.gpus[0].readings[i].link);
    EXPECT_EQ(read->gpus[0].readings[i].value, report.gpus[0].readings[i].value);
    EXPECT_EQ(read->gpus[0].readings[i].code, report.gpus[0].readings[i].code);
  }
  EXPECT_EQ(read->gpus[0].instances, report.gpus[0].instances);
  EXPECT_EQ(read->gpus[1].state, GpuState::lost);
}

TEST(GpuReport, parts_that_no_gpu_has_are_malformed) {
  const std::string good = format_gpu_report(example());
  const std::string part = R"([5,0,"MIG-1"])";
  const auto at = good.find(part);
  ASSERT_NE(at, std::string::npos) << good;
  for (const std::string bad : {"7", "[5,0]", R"([5,0,"MIG-1",0])", R"([-1,0,"MIG-1"])", R"([5,"0","MIG-1"])",
                                R"([5,0,"MIG-\u0001"])", R"([5,0,null])"}) {
    const auto report = parse_gpu_report(std::string(good).replace(at, part.size(), bad));
    ASSERT_FALSE(report) << bad;
    EXPECT_EQ(report.error().code, Errc::malformed);
  }
}

TEST(GpuReport, unprintable_detail_still_travels) {
  GpuReport report;
  report.detail = std::string("broken \xff\x01 file ") + std::string(5000, 'x');
  const auto read = parse_gpu_report(format_gpu_report(report));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_THAT(read->detail, HasSubstr("broken ?? file"));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(GpuReport, a_lying_helper_is_malformed_never_believed) {
  const std::string good = format_gpu_report(example());
  for (const std::string& bad : {
           std::string(),
           std::string("null"),
           std::string("[]"),
           std::string("{}"),
           std::string(2 << 20, '['),
           std::string("\xff\xfe\0garbage", 10),
           good.substr(0, good.size() / 2),
           good + good,
           replaced(good, "\"state\":\"ok\"", "\"state\":\"splendid\""),
           replaced(good, "\"calls\":17", "\"calls\":-1"),
           replaced(good, "\"calls\":17", "\"calls\":1.5"),
           replaced(good, "0000:1b:00.0", "../etc/passwd"),
           replaced(good, "0000:1b:00.0", "1B:00.0"),
           replaced(good, "0000:1b:00.0", "index-3"),
           replaced(good, "row_remap.pending", "row_remap.imagined"),
           replaced(good, "[\"row_remap.pending\",null,true,0]", "[\"row_remap.pending\",null,null,0]"),
           replaced(good, "[\"row_remap.pending\",null,true,0]", "[\"row_remap.pending\",null,true,3]"),
           replaced(good, "[\"row_remap.pending\",null,true,0]", "[\"row_remap.pending\",1,true,0]"),
           replaced(good, "[\"row_remap.pending\",null,true,0]", "[\"row_remap.pending\",null,[],0]"),
           replaced(good, "[\"row_remap.pending\",null,true,0]", "\"row_remap.pending\""),
           replaced(good, "[\"nvlink.active\",17,", "[\"nvlink.active\",99,"),
           replaced(good, "NVIDIA H100", "NVIDIA \\u001b[31m"),
       }) {
    const auto report = parse_gpu_report(bad);
    ASSERT_FALSE(report) << bad.substr(0, 200);
    EXPECT_EQ(report.error().code, Errc::malformed);
  }
}

TEST(GpuEvents, are_read_back_and_checked) {
  GpuEvent event;
  event.subject = {SubjectKind::gpu, "0000:1b:00.0", std::nullopt, "", ""};
  event.code = 79;
  event.time = {WallTime{std::chrono::hours{1}}, MonoTime{std::chrono::hours{2}}};
  event.late = std::chrono::seconds{30};
  const Instant sent{WallTime{}, event.time.mono + std::chrono::seconds{40}};
  const Instant received{WallTime{std::chrono::hours{9}}, MonoTime{std::chrono::hours{5}}};
  const auto read = parse_gpu_events(format_gpu_events({event}, sent), received);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().subject, event.subject);
  EXPECT_EQ(read->front().code, 79U);
  EXPECT_EQ(read->front().time.mono, received.mono - std::chrono::seconds{40});
  EXPECT_EQ(read->front().time.wall, received.wall - std::chrono::seconds{40});
  EXPECT_EQ(read->front().late, event.late);
  event.code = 4'294'967'295;
  EXPECT_EQ(parse_gpu_events(format_gpu_events({event}, sent), received).value().front().code, event.code);
  for (const std::string_view bad :
       {R"({"events":[{"address":"0000:1b:00.0","code":4294967296,"ago":0,"late":0}]})",
        R"({"events":[{"address":"nowhere","code":79,"ago":0,"late":0}]})",
        R"({"events":[{"address":"0000:1b:00.0","ago":0,"late":0}]})",
        R"({"events":[{"address":"0000:1b:00.0","code":79,"late":0}]})",
        R"({"events":[{"address":"0000:1b:00.0","code":79,"ago":-1,"late":0}]})", R"({"events":7})"})
    EXPECT_FALSE(parse_gpu_events(bad, received)) << bad;
}

TEST(GpuQuestion, is_read_back_and_checked) {
  const auto read =
      parse_gpu_question(format_gpu_question({{GpuGroup::ecc, GpuGroup::pcie}, {"0000:1b:00.0"}}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->groups, (std::vector{GpuGroup::ecc, GpuGroup::pcie}));
  EXPECT_EQ(read->addresses, std::vector<std::string>{"0000:1b:00.0"});
  EXPECT_FALSE(parse_gpu_question(R"({"groups":["all"],"addresses":[]})"));
  EXPECT_FALSE(parse_gpu_question(R"({"groups":[]})"));
}

}  // namespace
}  // namespace autopilot::host
