// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/operations/own_deep_diagnostic.hpp"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include "config/config.hpp"
#include "diagnostics/child/deep_test_helper.hpp"
#include "host/gpu/dcgm.hpp"

namespace autopilot::diagnostics {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(OwnDeepTest, takes_its_time_its_memory_and_its_limits_from_the_configuration) {
  config::Config config;
  EXPECT_THAT(own_deep_test_arguments(config), ElementsAre("--seconds", "10", "--memory-share", "0.5"));
  config.deep_test.time = std::chrono::milliseconds{2500};
  config.gpu_probe.memory_percent = 90;
  config.gpu_probe.kernels = "sm_90";
  config.expectation.thresholds = {{"gpu.pcie_bandwidth.host_to_device", 7.5},
                                   {"gpu.p2p.pair_share", 0.3},
                                   {"gpu.temperature.margin", -3}};
  EXPECT_THAT(own_deep_test_arguments(config),
              ElementsAre("--seconds", "2.5", "--memory-share", "0.9", "--kernels", "sm_90", "--threshold",
                          "gpu.p2p.pair_share=0.3", "--threshold", "gpu.pcie_bandwidth.host_to_device=7.5"));
}

TEST(OwnDeepTest, refuses_what_it_does_not_understand) {
  const auto problem_of = [](const std::vector<std::string>& arguments) {
    const auto summary = run_own_deep_test(arguments, MonoTime{});
    EXPECT_THAT(summary.tests, IsEmpty());
    EXPECT_THAT(summary.gpus, IsEmpty());
    return summary.problem;
  };
  EXPECT_EQ(problem_of({"--fast", "yes"}), "--fast: unknown");
  EXPECT_EQ(problem_of({"--seconds"}), "--seconds: expected a value");
  for (const std::string text : {"gpu.p2p.pair_share", "gpu.p2p.pair_share=", "gpu.p2p.pair=1", "=1", ""})
    EXPECT_THAT(problem_of({"--threshold", text}), HasSubstr("expected ID=NUMBER")) << text;
}

using host::DcgmStatus;
using host::GpuProbeReport;
using ::testing::UnorderedElementsAre;

constexpr std::array kAllNames{
    "pcie", "host_bandwidth", "compute",       "memory_bandwidth", "arithmetic_speed", "memory",
    "sdc",  "nvlink",         "peer_bandwidth"};

host::GpuDevice device(int number) {
  host::GpuDevice device;
  device.subject = {.kind = SubjectKind::gpu,
                    .key = "0000:0" + std::to_string(number) + ":00.0",
                    .index = number,
                    .uuid = {},
                    .serial = "S" + std::to_string(number)};
  device.name = "NVIDIA H100 80GB HBM3";
  return device;
}

std::vector<host::GpuDevice> devices(int count) {
  std::vector<host::GpuDevice> all;
  for (int number = 0; number < count; ++number)
    all.push_back(device(number));
  return all;
}

std::string uuid_of(int number) {
  return "GPU-" + std::to_string(number);
}

GpuProbeReport::Test test_of(std::string name, std::vector<GpuProbeReport::Series> measured,
                             std::map<std::string, double, std::less<>> facts = {}) {
  GpuProbeReport::Test test;
  test.name = std::move(name);
  test.measured = std::move(measured);
  test.facts = std::move(facts);
  return test;
}

// What the probe measures of sound GPUs.
GpuProbeReport sound_report(int count) {
  GpuProbeReport report;
  for (int number = 0; number < count; ++number) {
    GpuProbeReport::Gpu gpu;
    gpu.pci_address = device(number).subject.key;
    gpu.uuid = uuid_of(number);
    std::vector<GpuProbeReport::Series> copies;
    for (int other = 0; other < count; ++other)
      if (other != number)
        copies.insert(copies.end(), {{"write", uuid_of(other), 300}, {"read", uuid_of(other), 300}});
    gpu.tests = {
        test_of("pcie", {{"host_to_device", "", 50}, {"device_to_host", "", 50}, {"both_ways", "", 90}}),
        test_of("hbm", {{"copy", "", 3000}, {"scale", "", 3000}, {"triad", "", 3000}, {"daxpy", "", 3000}}),
        test_of("gemm", {{"f64", "", 60}, {"bf16", "", 800}}),
        test_of("memory", {}, {{"bytes_tested", 1e9}, {"passes", 2}}),
        test_of("sdc", {}, {{"multiprocessors_tested", 132}}),
        test_of("p2p", std::move(copies), {{"peers", count - 1}, {"peers_with_direct_access", count - 1}}),
    };
    if (count == 1) gpu.tests.back().skipped = "needs a second GPU";
    report.gpus.push_back(std::move(gpu));
  }
  return report;
}

// As the runs of the probe see it, each of which makes some of these tests.
GpuProbeReport run_of(const GpuProbeReport& whole, std::string_view tests) {
  GpuProbeReport report = whole;
  for (GpuProbeReport::Gpu& gpu : report.gpus)
    std::erase_if(gpu.tests, [tests](const GpuProbeReport::Test& test) {
      return tests.find(test.name) == std::string_view::npos;
    });
  return report;
}

GpuProbeReport::Test& find(GpuProbeReport& report, std::size_t gpu, std::string_view name) {
  return *std::ranges::find(report.gpus[gpu].tests, name, &GpuProbeReport::Test::name);
}

void make_wrong(GpuProbeReport& report, std::size_t gpu, std::string_view test) {
  find(report, gpu, test).wrong = {{.where = "word 7", .count = 3, .detail = "bits 0x4"}};
}

std::vector<JudgedTest> judge(const GpuProbeReport& report, const std::vector<host::GpuDevice>& gpus,
                              const Expectation& expectation = {}) {
  const Instant now{WallTime{std::chrono::hours{1}}, MonoTime{std::chrono::hours{1}}};
  std::vector<JudgedTest> tests;
  for (const GpuProbeTest& test : gpu_probe_tests())
    tests.push_back(judge_probe_test(test, gpu_probe_observations(test, run_of(report, test.tests), gpus),
                                     now, catalog::builtin(), expectation));
  return tests;
}

DeepTestSummary summary_of(const GpuProbeReport& report, const std::vector<host::GpuDevice>& gpus,
                           const Expectation& expectation = {}) {
  return deep_test_summary(judge(report, gpus, expectation), gpus);
}

// "pcie.0.2": tests of that status, with their GPUs.
std::vector<std::string> tests_of(const DeepTestSummary& summary, DcgmStatus status) {
  std::vector<std::string> words;
  for (const auto& test : summary.tests) {
    if (test.status != status) continue;
    words.push_back(test.name);
    for (const std::uint32_t gpu : test.gpus)
      words.back() += '.' + std::to_string(gpu);
  }
  return words;
}

std::vector<std::uint32_t> tested(const DeepTestSummary& summary) {
  std::vector<std::uint32_t> numbers;
  for (const host::DcgmGpu& gpu : summary.gpus)
    numbers.push_back(gpu.id);
  return numbers;
}

bool is_fatal_by_default(std::string_view test) {
  return host::is_fatal_test(host::test_word(test), config::DeepTest{}.fatal);
}

TEST(OwnDeepTestSummary, sound_gpus_pass_every_test) {
  const auto summary = summary_of(sound_report(2), devices(2));
  EXPECT_EQ(summary.problem, "");
  EXPECT_THAT(summary.gpus, ElementsAre(host::DcgmGpu{0, "S0"}, host::DcgmGpu{1, "S1"}));
  ASSERT_EQ(summary.tests.size(), kAllNames.size());
  for (std::size_t i = 0; i < kAllNames.size(); ++i) {
    EXPECT_EQ(summary.tests[i].name, kAllNames[i]);
    EXPECT_EQ(summary.tests[i].status, DcgmStatus::pass);
    EXPECT_THAT(summary.tests[i].gpus, ElementsAre(0, 1));
  }
  EXPECT_EQ(exit_code_of(summary), 0);
}

TEST(OwnDeepTestSummary, a_wrong_result_fails_by_the_name_of_what_was_wrong) {
  for (const auto& [test, failed, is_fatal] :
       {std::tuple{"pcie", std::vector<std::string>{"pcie.1", "compute.1"}, true},
        {"hbm", {"compute.1"}, false},
        {"gemm", {"compute.1"}, false},
        {"memory", {"memory.1"}, true},
        {"sdc", {"sdc.1"}, false},
        {"p2p", {"nvlink.1"}, true}}) {
    GpuProbeReport report = sound_report(2);
    make_wrong(report, 1, test);
    const auto summary = summary_of(report, devices(2));
    EXPECT_EQ(tests_of(summary, DcgmStatus::fail), failed) << test;
    EXPECT_THAT(summary.tests.front().message, HasSubstr("GPU 1 (0000:01:00.0)")) << test;
    EXPECT_EQ(is_fatal_by_default(summary.tests.front().name), is_fatal) << test;
    EXPECT_EQ(summary.problem, "") << test;
    EXPECT_THAT(tested(summary), ElementsAre(0, 1)) << test;
    EXPECT_EQ(exit_code_of(summary), 1) << test;
  }
}

TEST(OwnDeepTestSummary, a_slow_gpu_fails_and_what_it_got_right_stands) {
  GpuProbeReport report = sound_report(3);
  for (auto& series : find(report, 2, "hbm").measured)
    series.median = 900;
  find(report, 0, "pcie").measured.front().median = 1;
  const auto summary = summary_of(report, devices(3));
  EXPECT_THAT(tests_of(summary, DcgmStatus::fail),
              ElementsAre("host_bandwidth.0", "memory_bandwidth.2", "arithmetic_speed.2"));
  EXPECT_THAT(tests_of(summary, DcgmStatus::pass),
              ElementsAre("pcie.0.1.2", "compute.0.1.2", "memory.0.1.2", "sdc.0.1.2", "nvlink.0.1.2",
                          "peer_bandwidth.0.1.2"));
  EXPECT_EQ(summary.problem, "");
}

TEST(OwnDeepTestSummary, the_limits_are_those_of_the_checks_and_of_the_operator) {
  GpuProbeReport report = sound_report(1);
  find(report, 0, "pcie").measured.front().median = 6;
  EXPECT_THAT(tests_of(summary_of(report, devices(1)), DcgmStatus::fail), IsEmpty());
  Expectation expectation;
  expectation.thresholds["gpu.pcie_bandwidth.host_to_device"] = 7;
  EXPECT_THAT(tests_of(summary_of(report, devices(1), expectation), DcgmStatus::fail),
              ElementsAre("host_bandwidth.0"));
}

TEST(OwnDeepTestSummary, two_gpus_that_are_slow_with_each_other_are_both_named) {
  GpuProbeReport report = sound_report(4);
  for (auto& series : find(report, 1, "p2p").measured)
    if (series.peer == uuid_of(3)) series.median = 10;
  const auto summary = summary_of(report, devices(4));
  EXPECT_THAT(tests_of(summary, DcgmStatus::fail), ElementsAre("peer_bandwidth.1.3"));
}

TEST(OwnDeepTestSummary, a_gpu_that_was_not_measured_did_not_pass) {
  GpuProbeReport report = sound_report(2);
  report.gpus[1].error = "hbm: cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE (214)";
  std::erase_if(report.gpus[1].tests, [](const auto& test) { return test.name != "pcie"; });
  const auto summary = summary_of(report, devices(2));
  EXPECT_THAT(summary.problem,
              HasSubstr("GPU 1 (0000:01:00.0): hbm: cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE"));
  EXPECT_THAT(tested(summary), ElementsAre(0));
  EXPECT_THAT(tests_of(summary, DcgmStatus::fail), IsEmpty());
  EXPECT_THAT(tests_of(summary, DcgmStatus::pass), ::testing::Contains("sdc.0"));
  EXPECT_EQ(exit_code_of(summary), 2);
}

TEST(OwnDeepTestSummary, what_was_wrong_before_a_gpu_erred_is_a_failure) {
  GpuProbeReport report = sound_report(2);
  make_wrong(report, 1, "memory");
  report.gpus[1].error = "memory: cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719)";
  const auto summary = summary_of(report, devices(2));
  EXPECT_THAT(tests_of(summary, DcgmStatus::fail), ElementsAre("memory.1"));
  EXPECT_THAT(tested(summary), ElementsAre(0));
  EXPECT_NE(summary.problem, "");
  EXPECT_EQ(exit_code_of(summary), 1);
}

TEST(OwnDeepTestSummary, a_gpu_that_the_probe_does_not_see_was_not_tested) {
  const auto summary = summary_of(sound_report(2), devices(3));
  EXPECT_THAT(summary.problem, HasSubstr("GPU 2 (0000:02:00.0): the GPU probe did not see it"));
  EXPECT_THAT(tested(summary), ElementsAre(0, 1));
}

TEST(OwnDeepTestSummary, kernels_that_disagree_on_all_gpus_prove_nothing) {
  GpuProbeReport report = sound_report(1);
  find(report, 0, "gemm").disputed = {{.where = "row 1", .count = 1, .detail = ""}};
  find(report, 0, "gemm").measured = {{"f64", "", 60}, {"bf16_mma_sync", "", 500}};
  const auto summary = summary_of(report, devices(1));
  EXPECT_THAT(summary.problem, HasSubstr("two kernels of the probe disagree"));
  EXPECT_THAT(summary.gpus, IsEmpty());
}

TEST(OwnDeepTestSummary, one_gpu_has_no_peers_and_passes_all_the_same) {
  const auto summary = summary_of(sound_report(1), devices(1));
  EXPECT_THAT(tests_of(summary, DcgmStatus::skip), ElementsAre("nvlink", "peer_bandwidth"));
  EXPECT_EQ(summary.problem, "");
  EXPECT_THAT(tested(summary), ElementsAre(0));
  EXPECT_EQ(exit_code_of(summary), 0);
}

TEST(OwnDeepTestSummary, a_probe_that_crashed_says_nothing_and_hides_no_failure) {
  GpuProbeReport report = sound_report(2);
  make_wrong(report, 0, "sdc");
  std::vector<JudgedTest> tests = judge(report, devices(2));
  tests.front() = judge_probe_test(gpu_probe_tests().front(),
                                   fail(Errc::unavailable, "the GPU probe ended by signal 6 (Aborted)"), {},
                                   catalog::builtin(), {});
  const auto summary = deep_test_summary(tests, devices(2));
  EXPECT_EQ(summary.problem, "gpu.pcie_bandwidth: the GPU probe ended by signal 6 (Aborted)");
  EXPECT_THAT(summary.gpus, IsEmpty());
  EXPECT_THAT(tests_of(summary, DcgmStatus::fail), ElementsAre("sdc.0"));
  EXPECT_THAT(tests_of(summary, DcgmStatus::pass), ::testing::Not(::testing::Contains("pcie.0.1")));
}

TEST(OwnDeepTestSummary, somebody_who_came_explains_what_is_slow_and_nothing_that_is_wrong) {
  GpuProbeReport report = sound_report(2);
  make_wrong(report, 0, "pcie");
  find(report, 1, "pcie").measured.front().median = 1;
  std::vector<JudgedTest> tests = judge(report, devices(2));
  discount("process 4242 on GPU 1", tests.front());
  const auto summary = deep_test_summary(tests, devices(2));
  EXPECT_THAT(tests_of(summary, DcgmStatus::fail), UnorderedElementsAre("pcie.0", "compute.0"));
  EXPECT_EQ(summary.problem, "gpu.pcie_bandwidth: GPU in use by process 4242 on GPU 1");
  EXPECT_THAT(summary.gpus, IsEmpty());
}

TEST(OwnDeepTestSummary, no_name_of_what_is_slow_is_fatal_by_default) {
  for (const GpuProbeTest& test : gpu_probe_tests())
    EXPECT_EQ(std::ranges::count(deep_test_names(), test.check, &DeepTestNames::check), 1) << test.check;
  std::vector<std::string> fatal;
  for (const DeepTestNames& names : deep_test_names()) {
    EXPECT_FALSE(is_fatal_by_default(names.slow)) << names.slow;
    if (is_fatal_by_default(names.wrong)) fatal.emplace_back(names.wrong);
  }
  EXPECT_THAT(fatal, ElementsAre("pcie", "memory", "nvlink"));
}

TEST(OwnDeepTestSummary, wrong_results_can_be_made_fatal_without_what_is_slow) {
  std::vector<std::string> fatal = config::DeepTest{}.fatal;
  fatal.insert(fatal.end(), {"sdc", "compute"});
  for (const DeepTestNames& names : deep_test_names()) {
    EXPECT_TRUE(host::is_fatal_test(names.wrong, fatal)) << names.wrong;
    EXPECT_FALSE(host::is_fatal_test(names.slow, fatal)) << names.slow;
  }
}

// Who gives one of these checks another reason says there what a deep test makes of it.
TEST(OwnDeepTestSummary, every_reason_of_its_checks_is_known_as_wrong_or_slow) {
  std::vector<std::string> reasons;
  for (const catalog::Reason& reason : catalog::builtin().reasons())
    if (!reason.checks.empty() && std::ranges::all_of(reason.checks, [](const std::string& check) {
          return find_gpu_probe_test(check) != nullptr;
        }))
      reasons.push_back(reason.id);
  EXPECT_THAT(reasons, UnorderedElementsAre(
                           // wrong
                           "pcie_data_wrong", "memory_bandwidth_wrong", "compute_wrong", "memory_words_wrong",
                           "silent_corruption", "p2p_data_wrong",
                           // slow
                           "pcie_bandwidth_low", "pcie_bandwidth_sibling_differs", "memory_bandwidth_low",
                           "memory_bandwidth_sibling_differs", "memory_bandwidth_declined", "compute_slow",
                           "compute_sibling_differs", "compute_declined", "p2p_gpu_slow", "p2p_pair_slow",
                           "p2p_slow"));
}

TEST(OwnDeepTestSummary, ten_gpus_that_fail_everything_fit_in_a_termination_message) {
  GpuProbeReport report = sound_report(10);
  for (std::size_t gpu = 0; gpu < 10; ++gpu)
    for (const char* test : {"pcie", "hbm", "gemm", "memory", "sdc", "p2p"})
      make_wrong(report, gpu, test);
  const std::string text = format_deep_test_summary(summary_of(report, devices(10)));
  EXPECT_LE(text.size(), kMaxDeepTestSummary);
  const auto again = parse_deep_test_summary(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->left_out, 0U);
  EXPECT_EQ(again->gpus.size(), 10U);
}

}  // namespace

}  // namespace autopilot::diagnostics
