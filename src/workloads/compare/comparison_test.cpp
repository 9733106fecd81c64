// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "workloads/compare/readers.hpp"

namespace autopilot::workloads::compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Series series_with(std::string metric, std::string subject, std::vector<double> values) {
  Series series;
  series.metric = std::move(metric);
  series.subject = std::move(subject);
  series.unit = "%";
  series.source = {"file.csv", 2, static_cast<int>(values.size()) + 1, 3, "%user"};
  series.values = std::move(values);
  assume_times(series, 5);
  return series;
}

Side side_with_facts(std::string letter, const std::string& facts) {
  Side side;
  side.letter = letter;
  side.name = "side-" + letter;
  side.facts = *parse_facts(facts, "facts.yaml");
  return side;
}

constexpr const char* kFacts =
    "gpus: 8\ngpu_model: H100\nmodel: llama\nbatch: 128\ndataset: c4\nexclusive: true\n";

TEST(Comparability, a_difference_in_the_work_prevents_a_winner) {
  const Side a = side_with_facts("A", std::string(kFacts) + "throughput: {value: 100, unit: samples/s}\n");
  const Side b = side_with_facts("B",
                                 "gpus: 8\ngpu_model: H100\nmodel: llama\nbatch: 64\ndataset: c4\nexclusive: "
                                 "true\nthroughput: {value: 200, unit: "
                                 "samples/s}\n");
  const auto found = compare_sides(a, b, {}, {});
  EXPECT_EQ(found.verdict.verdict, Comparability::not_comparable);
  EXPECT_THAT(found.verdict.reasons(), ElementsAre("Batch: A 128, B 64"));
  EXPECT_EQ(found.winner, "");
  EXPECT_THAT(found.conclusion, HasSubstr("neither is named better"));
}

TEST(Comparability, what_is_not_stated_is_unknown_and_not_the_same) {
  const Side a = side_with_facts("A", kFacts);
  const Side b = side_with_facts("B", "gpus: 8\n");
  const auto verdict = comparability_of(a, b);
  EXPECT_EQ(verdict.verdict, Comparability::unproven);
  EXPECT_THAT(verdict.reasons(), Contains(HasSubstr("GPU model not stated for B")));
}

TEST(Comparability, the_same_work_on_both_sides_has_a_winner_by_throughput) {
  const Side a = side_with_facts("A", std::string(kFacts) + "throughput: {value: 100, unit: samples/s}\n");
  const Side b = side_with_facts("B", std::string(kFacts) + "throughput: {value: 110, unit: samples/s}\n");
  const auto found = compare_sides(a, b, {}, {});
  EXPECT_EQ(found.verdict.verdict, Comparability::comparable);
  EXPECT_EQ(found.winner, "B");
  EXPECT_THAT(found.conclusion, HasSubstr("10 % of A"));
  EXPECT_EQ(compare_sides(b, a, {}, {}).winner, "B") << "of the new letters: the first has more";
}

TEST(Comparability, step_times_whose_bounds_include_zero_name_no_winner) {
  Side a = side_with_facts("A", kFacts);
  Side b = side_with_facts("B", kFacts);
  std::vector<double> steps_a, steps_b;
  for (int i = 0; i < 200; ++i) {
    steps_a.push_back(1 + i % 5);
    steps_b.push_back(1 + (i + 2) % 5);
  }
  a.series.push_back(series_with("job.step_time", "job", steps_a));
  b.series.push_back(series_with("job.step_time", "job", steps_b));
  const auto found = compare_sides(std::move(a), std::move(b), {}, {});
  EXPECT_EQ(found.winner, "");
  EXPECT_THAT(found.conclusion, HasSubstr("no difference"));
}

TEST(Comparability, facts_that_the_data_refutes_prevent_a_winner_and_have_no_allocation) {
  const std::string facts =
      "gpus: 1\ngpu_model: H100\nmodel: llama\nbatch: 8\ndataset: c4\nexclusive: true\nthroughput: {value: ";
  Side a = side_with_facts("A", facts + "100, unit: images/s}\n");
  Side b = side_with_facts("B", facts + "130, unit: images/s}\n");
  for (const char* gpu : {"GPU 0", "GPU 1"})
    a.series.push_back(series_with("gpu.util", gpu, std::vector<double>(50, 90.0)));
  b.series.push_back(series_with("gpu.util", "GPU 0", std::vector<double>(50, 90.0)));
  b.series.push_back(series_with("gpu.util", "GPU 1", std::vector<double>(50, 0.9)));
  const auto hours = gpu_hours_of(b);
  EXPECT_LE(*hours.used, *hours.allocated);
  EXPECT_FALSE(gpu_hours_of(a).allocated);
  const auto found = compare_sides(std::move(a), std::move(b), {}, {});
  EXPECT_EQ(found.verdict.verdict, Comparability::not_comparable);
  EXPECT_EQ(found.winner, "");
  EXPECT_THAT(found.verdict.reasons(),
              ElementsAre(HasSubstr("facts.yaml of A states 1 GPU, the data shows 2 in use")));
}

TEST(Comparability, throughputs_of_different_units_name_the_unit) {
  const Side a = side_with_facts("A", std::string(kFacts) + "throughput: {value: 100, unit: images/s}\n");
  const Side b = side_with_facts("B", std::string(kFacts) + "throughput: {value: 6000, unit: images/min}\n");
  const auto found = compare_sides(a, b, {}, {});
  EXPECT_EQ(found.verdict.verdict, Comparability::not_comparable);
  EXPECT_THAT(found.verdict.reasons(),
              ElementsAre("Unit of the throughput: A images/s, B images/min; state both in one unit"));
  const Side c = side_with_facts("B", std::string(kFacts) + "throughput: {value: 110, unit: Images/s}\n");
  EXPECT_EQ(compare_sides(a, c, {}, {}).winner, "B");
}

TEST(Comparability, a_difference_below_one_percent_without_a_repeat_names_no_winner) {
  const Side a = side_with_facts("A", std::string(kFacts) + "throughput: {value: 100, unit: images/s}\n");
  const Side b = side_with_facts("B", std::string(kFacts) + "throughput: {value: 100.05, unit: images/s}\n");
  const auto found = compare_sides(a, b, {}, {});
  EXPECT_EQ(found.winner, "");
  EXPECT_THAT(found.conclusion, HasSubstr("A 100, B 100.05 images/s"));
  EXPECT_THAT(found.conclusion, HasSubstr("below the 1 %"));
}

// A run of nccl-tests with one size.
std::string nccl_log(std::string_view bytes, std::string_view busbw, std::string_view wrong) {
  const std::string cells = std::string(" 10.0 1.0 ") + std::string(busbw) + " " + std::string(wrong);
  return "# nThread 1 nGpus 8\n" + std::string(bytes) + " 2 float sum -1" + cells + cells +
         "\n# Avg bus bandwidth    : " + std::string(busbw) + "\n";
}

Comparison compare_nccl(const std::string& log_a, const std::string& log_b) {
  Side a = side_with_facts("A", kFacts);
  Side b = side_with_facts("B", kFacts);
  add_readings(a, *parse_nccl_tests(log_a, "nccl.log"), "nccl.log");
  add_readings(b, *parse_nccl_tests(log_b, "nccl.log"), "nccl.log");
  return compare_sides(std::move(a), std::move(b), {}, {});
}

TEST(NcclRuns, only_the_same_sizes_without_wrong_results_name_a_winner) {
  EXPECT_EQ(compare_nccl(nccl_log("1073741824", "400", "0"), nccl_log("1073741824", "300", "0")).winner, "A");
  const auto sizes = compare_nccl(nccl_log("1073741824", "400", "0"), nccl_log("8", "1.5", "0"));
  EXPECT_EQ(sizes.winner, "");
  EXPECT_THAT(sizes.conclusion, HasSubstr("different sizes"));
  const auto wrong = compare_nccl(nccl_log("8", "400", "12"), nccl_log("8", "300", "0"));
  EXPECT_EQ(wrong.winner, "");
  EXPECT_THAT(wrong.conclusion, HasSubstr("wrong results for A"));
  const auto failed = compare_nccl(nccl_log("8", "400", "0"),
                                   nccl_log("8", "300", "N/A") + "# Out of bounds values : 4 FAILED\n");
  EXPECT_THAT(failed.conclusion, HasSubstr("wrong results for B"));
}

TEST(Figures, scaling_gives_the_efficiency_against_the_smallest_run) {
  const Side a =
      side_with_facts("A", "scaling:\n  - {nodes: 1, throughput: 10}\n  - {nodes: 4, throughput: 30}\n");
  const auto found = compare_sides(a, side_with_facts("B", "gpus: 1\n"), {}, {});
  for (const Figure& figure : found.figures)
    if (figure.name == "Efficiency at 4 nodes") {
      EXPECT_DOUBLE_EQ(figure.a->value, 75);
      EXPECT_FALSE(figure.b);
      return;
    }
  FAIL() << "no figure of 4 nodes";
}

TEST(Remarks, waiting_gpus_beside_cpu_bursts_are_starvation) {
  Side side = side_with_facts("A", "gpus: 1\ngpus_allocated: 4\n");
  std::vector<double> cpu, gpu;
  for (int i = 0; i < 100; ++i) {
    const bool is_burst = i % 10 == 0;
    cpu.push_back(is_burst ? 14 : 1);
    gpu.push_back(is_burst ? 0 : 100);
  }
  side.series = {series_with("cpu.user", "", cpu), series_with("gpu.util", "GPU 0", gpu)};
  const auto found = starvation_of(side);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->idle_readings, 10U);
  EXPECT_EQ(found->beside_bursts, 10U);
  EXPECT_EQ(found->idle_s, 50);
  const auto remarks = remarks_of(side);
  ASSERT_EQ(remarks.size(), 2U);
  EXPECT_THAT(remarks[0].text, HasSubstr("75 % of the allocation is idle"));
  EXPECT_THAT(remarks[1].text, HasSubstr("wait for phases of the CPU"));
}

// One GPU that waits at its first reading, beside a CPU burst at the first reading of its file.
Side side_with_clocks(double cpu_clock_s, double gpu_clock_s) {
  Side side = side_with_facts("A", "gpus: 1\n");
  std::vector<double> cpu(40, 1.0), gpu(40, 95.0);
  cpu[0] = 40;
  gpu[0] = 0;
  side.series = {series_with("cpu.user", "", cpu), series_with("gpu.util", "GPU 0", gpu)};
  side.series[0].clock_s = cpu_clock_s;
  side.series[1].clock_s = gpu_clock_s;
  return side;
}

TEST(Remarks, files_that_do_not_overlap_in_time_are_not_joined) {
  const Side apart = side_with_clocks(8 * 3600, 14 * 3600);
  EXPECT_FALSE(starvation_of(apart));
  const auto remarks = remarks_of(apart);
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_EQ(remarks[0].kind, RemarkKind::clock);
  EXPECT_THAT(remarks[0].text, HasSubstr("(from 08:00:00) and"));
  EXPECT_THAT(remarks[0].text, HasSubstr("(from 14:00:00) do not overlap"));
}

TEST(Remarks, files_are_joined_by_time_and_also_across_midnight) {
  EXPECT_EQ(starvation_of(side_with_clocks(3600, 3600))->beside_bursts, 1U);
  const auto later = starvation_of(side_with_clocks(86'390, 15));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->readings, 36U) << "35 inside, and one within an interval of the end";
  EXPECT_EQ(later->idle_readings, 1U);
  EXPECT_EQ(later->beside_bursts, 0U) << "25 s after the burst";
}

TEST(Remarks, activity_on_gpus_outside_the_job_is_reported) {
  Side side = side_with_facts("B", "gpus: 1\n");
  std::vector<double> quiet(200, 0.0);
  quiet[3] = 13;
  side.series = {series_with("gpu.util", "GPU 0", std::vector<double>(200, 31.0)),
                 series_with("gpu.util", "GPU 1", quiet)};
  const auto remarks = remarks_of(side);
  ASSERT_EQ(remarks.size(), 2U);
  EXPECT_THAT(remarks[0].text, HasSubstr("1 of 2 GPUs unused"));
  EXPECT_EQ(remarks[1].kind, RemarkKind::isolation);
}

TEST(Remarks, one_loaded_window_is_found_and_regular_bursts_are_not) {
  std::vector<double> cpu(1250, 0.84);
  for (std::size_t i = 15; i <= 55; ++i)
    cpu[i] = 16;
  const auto window = loaded_window(series_with("cpu.user", "", cpu));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first, 15U);
  EXPECT_EQ(window->last, 55U);
  EXPECT_DOUBLE_EQ(window->mean, 16);
  for (std::size_t i = 0; i < cpu.size(); ++i)
    cpu[i] = i % 17 < 3 ? 14 : 1;
  EXPECT_FALSE(loaded_window(series_with("cpu.user", "", cpu)));
}

TEST(Remarks, the_effect_of_a_load_on_a_gpu_leaves_out_its_start) {
  std::vector<double> cpu(200, 1.0);
  std::vector<double> gpu(200, 31.5);
  for (std::size_t i = 15; i <= 55; ++i)
    cpu[i] = 16;
  for (std::size_t i = 0; i <= 55; ++i)
    gpu[i] = i < 26 ? 5 : 30.3;
  const Series user = series_with("cpu.user", "", cpu);
  const auto effect = effect_of_load(user, *loaded_window(user), series_with("gpu.util", "GPU 0", gpu));
  ASSERT_TRUE(effect);
  EXPECT_EQ(effect->first, 26U);
  EXPECT_NEAR(effect->change(), -0.038, 0.0005);
  EXPECT_FALSE(effect_of_load(user, *loaded_window(user),
                              series_with("gpu.util", "GPU 0", std::vector<double>(60, 1.0))));
}

TEST(Remarks, a_bandwidth_shows_its_margin) {
  Side side;
  side.letter = "A";
  add_readings(side,
               *parse_node_health_check(
                   "SUCCESS:  nhc:  x: Measured Avg NCCL allreduce bus BW 477.873 GB/s (expected >=460.0 "
                   "GB/s)\n",
                   "health.log"),
               "health.log");
  EXPECT_THAT(remarks_of(side).at(0).text, HasSubstr("margin +3.9 %"));
}

TEST(SideData, rows_of_nvidia_smi_are_dealt_by_the_rows_of_sar) {
  Side side = side_with_facts("A", "gpus: 1\n");
  side.series = {series_with("cpu.user", "", std::vector<double>(1596, 1.0))};
  EXPECT_EQ(gpus_of_rows(side, 3194), 2);
  EXPECT_FALSE(gpus_of_rows(side, 2400));
  side.facts.sampled_gpus = 4;
  EXPECT_EQ(gpus_of_rows(side, 3194), 4);
}

TEST(Facts, every_problem_has_its_line) {
  const auto found =
      parse_facts("gpus: 0\nsample_interval: 0s\nscaling:\n  - {nodes: 1}\nthroughput: {value: 1}\nnode: 3\n",
                  "facts.yaml");
  ASSERT_FALSE(found);
  for (const char* part :
       {"facts.yaml:1: gpus", "facts.yaml:2:", "facts.yaml:4:", "facts.yaml:5:", "facts.yaml:6:", "nodes"})
    EXPECT_THAT(found.error().what, HasSubstr(part));
}

TEST(Cost, the_model_computes_what_the_prices_allow) {
  const auto model = parse_cost(
      "a: {electricity_per_kwh: 0.0839, pue: 1.2, rack_kw: 25, person_year: 140000, support_fte: 0.25, "
      "system_fte: 0.25, "
      "node_price: 50000, node_cores: 80, utilisation: 0.9}\n"
      "b: {electricity_per_kwh: 0.0839, pue: 1.2, rack_kw: 25, person_year: 125000, system_fte: 0.5, "
      "node_price: 50000, "
      "utilisation: 0.6, gpu_hour_price: 2}\n",
      "cost.yaml");
  ASSERT_TRUE(model) << model.error().what;
  Side b = side_with_facts("B", "gpus: 2\n");
  b.series = {series_with("gpu.util", "GPU 0", std::vector<double>(721, 50.0))};
  const auto lines = cost_lines(*model, side_with_facts("A", "gpus: 1\n"), b);
  const auto line = [&lines](std::string_view name) {
    for (const CostLine& one : lines)
      if (one.name == name) return one;
    return CostLine{};
  };
  EXPECT_NEAR(*line("Electricity of a rack and year").a, 22048.92, 0.005);
  EXPECT_EQ(line("Staff of a year").a, 70000);
  EXPECT_EQ(line("Staff of a year").b, 62500);
  EXPECT_EQ(line("Price of a core").a, 625);
  EXPECT_NEAR(*line("Price of a utilised node").a, 55555.56, 0.005);
  EXPECT_NEAR(*line("Price of a utilised node").b, 83333.33, 0.005);
  EXPECT_FALSE(line("GPU-hour").a) << "without years";
  // Two GPUs held, one of them half used.
  EXPECT_NEAR(*line("Utilised GPU-hour, as measured").b, 8, 1e-9);
  EXPECT_FALSE(parse_cost("a: {utilisation: 90}\nb: {pue: 0}\n", "cost.yaml"));
}

}  // namespace
}  // namespace autopilot::workloads::compare
