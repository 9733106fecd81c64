// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/gpu_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

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
