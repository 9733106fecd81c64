// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison/prometheus_range.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "cli/comparison/recording_series.hpp"

namespace autopilot::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PrometheusRange, series_of_the_dcgm_exporter_get_the_common_names) {
  const std::string text =
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL",)"
      R"("gpu":"3","Hostname":"n1"},"values":[[1588000000,"12"],[1588000015,"NaN"],[1588000030,"13.5"],)"
      R"([1588000300,"14"]]},{"values":[[1588000000,"7"]],"metric":{"__name__":"queue_length"}}]}})";
  EXPECT_TRUE(is_prometheus_answer(text));
  const auto found = parse_prometheus_range(text, "range.json");
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_EQ(found->series.size(), 2U);
  EXPECT_EQ(found->series[0].metric, "gpu.util");
  EXPECT_EQ(found->series[0].subject, "n1 GPU 3");
  EXPECT_THAT(found->series[0].values, ElementsAre(12, 13.5, 14));
  EXPECT_THAT(found->series[0].seconds, ElementsAre(0, 30, 300));
  EXPECT_EQ(found->series[0].missing, 1U);
  EXPECT_EQ(found->series[0].source.name, "data.result[0] DCGM_FI_DEV_GPU_UTIL");
  EXPECT_EQ(found->series[1].metric, "prometheus.queue_length");
}

TEST(PrometheusRange, an_error_of_prometheus_and_damage_are_errors) {
  const auto refused =
      parse_prometheus_range(R"({"status":"error","error":"query timed out"})", "range.json");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("query timed out"));
  for (const char* text : {"", "{}", "[1]", R"({"data":{"result":[{"values":[[1]]}]}})",
                           R"({"data":{"result":[{"values":[[1,"2",3)"})
    EXPECT_FALSE(parse_prometheus_range(text, "range.json")) << text;
}

TEST(RecordingSeries, windows_steps_and_restarts_become_series_and_times) {
  RecordingSeries recording;
  ASSERT_TRUE(
      recording.add_file(api::JobFile::jobs,
                         R"({"type":"format","t":1000,"format":"autopilot-job-telemetry","version":1})"
                         "\n"
                         R"({"type":"job","t":1000,"job":"j","ranks":[{"rank":0,"node":"n"}]})"
                         "\n"
                         R"({"type":"job_end","t":1300,"job":"j","outcome":"failed"})"
                         "\n"
                         R"({"type":"job","t":1400,"job":"j","attempt":2,"ranks":[{"rank":0,"node":"n"}]})"
                         "\nnot json\n",
                         "jobs.jsonl"));
  ASSERT_TRUE(recording.add_file(api::JobFile::telemetry,
                                 R"({"type":"window","t":1010,"window":10,"node":"n","gpu":{"index":[0,1],)"
                                 R"("util":[0.5,null]},"host":{"storage_read_bytes_s":1.5e8,"psi_io":0.25}})"
                                 "\n",
                                 "telemetry.jsonl"));
  ASSERT_TRUE(recording.add_file(api::JobFile::progress,
                                 R"({"type":"step","t":1040,"job":"j","rank":0,"step":1,"step_s":2.5})"
                                 "\n"
                                 R"({"type":"step","t":1040,"job":"j","rank":1,"step":1,"step_s":9})"
                                 "\n"
                                 R"({"type":"step","t":1290,"job":"j","rank":0,"step":2,"step_s":3.5})"
                                 "\n"
                                 R"({"type":"step","t":1500,"job":"j","rank":0,"step":3})"
                                 "\n",
                                 "progress.jsonl"));
  const auto found = recording.take();
  ASSERT_EQ(found.series.size(), 4U);
  const auto series = [&found](std::string_view metric) -> const workloads::compare::Series& {
    for (const auto& one : found.series)
      if (one.metric == metric) return one;
    return found.series[0];
  };
  EXPECT_EQ(series("gpu.util").subject, "n GPU 0");
  EXPECT_THAT(series("gpu.util").values, ElementsAre(50));
  EXPECT_THAT(series("io.read").values, ElementsAre(1.5e8));
  EXPECT_THAT(series("host.psi_io").values, ElementsAre(25));
  EXPECT_THAT(series("job.step_time").values, ElementsAre(2.5, 3.5)) << "of one rank";
  ASSERT_EQ(found.measures.size(), 2U);
  EXPECT_EQ(found.measures[0].value, 40) << "from the start to the first step";
  EXPECT_EQ(found.measures[1].value, 210)
      << "from the last step before the restart to the first one after it";
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_THAT(found.notes[0], HasSubstr("1 lines are malformed"));
}

}  // namespace
}  // namespace autopilot::cli
