// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/dcgm_helper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/observation.hpp"
#include "diagnostics/child/child_line.hpp"
#include "host/gpu/dcgm.hpp"

namespace autopilot::diagnostics {

namespace {

using ::testing::ElementsAre;

Subject dcgm_gpu(int index, const std::string& serial = {}) {
  return {.kind = SubjectKind::gpu,
          .key = "0000:0" + std::to_string(index) + ":00.0",
          .index = index,
          .uuid = {},
          .serial = serial};
}

DcgmTest dcgm_test_of(std::vector<Subject> gpus) {
  return {.level = 2,
          .gpus = std::move(gpus),
          .fatal = {"PCIe", "GPU Memory"},
          .excuses = {{45, "link generation"}, {46, "link width"}, {56, ""}, {101, "xid"}}};
}

// What `dcgmi diag -j` says, as the helper reads it.
Result<Observations> dcgm_words(std::string_view document, const DcgmTest& test) {
  const auto diagnosis = host::parse_dcgm_diagnosis(document);
  EXPECT_TRUE(diagnosis) << diagnosis.error().what;
  return diagnosis ? dcgm_observations(summary_of(*diagnosis), test) : Observations{};
}

// "gpu/0000:01:00.0 failed memory": those of dcgm.result.
std::vector<std::string> dcgm_lines(const Result<Observations>& all) {
  std::vector<std::string> lines;
  for (const Observation& one : all.value_or(Observations{})) {
    if (one.name != "dcgm.result") continue;
    std::string line = autopilot::to_string(one.subject) + ' ';
    line += one.value ? autopilot::to_string(*one.value) : one.missing.text();
    const std::string tests = attribute_text(one, "tests");
    if (!tests.empty()) line.append(" ").append(tests);
    lines.push_back(line);
  }
  return lines;
}

constexpr std::string_view kDcgm3 = R"({"DCGM GPU Diagnostic": {
  "GPU Device Serials": {"0": "S0", "1": "S1"},
  "test_categories": [
    {"category": "Deployment", "tests": [{"name": "NVML Library", "results": [{"status": "Pass"}]}]},
    {"category": "Hardware", "tests": [{"name": "GPU Memory", "results": [
      {"gpu_id": "0", "status": "Pass"},
      {"gpu_id": "1", "status": "Fail", "warnings": "a page could not be written"}]}]},
    {"category": "Integration", "tests": [{"name": "PCIe", "results": [
      {"gpu_id": "0", "status": "Skip"}, {"gpu_id": "1", "status": "Skip"}]}]}],
  "version": "3.3.9"}})";

TEST(DcgmWords, of_version_3_each_gpu_is_told_by_its_serial) {
  const auto all = dcgm_words(kDcgm3, dcgm_test_of({dcgm_gpu(0, "S1"), dcgm_gpu(1, "S0")}));
  EXPECT_THAT(dcgm_lines(all),
              ElementsAre("host passed", "gpu/0000:00:00.0 fatal gpu_memory", "gpu/0000:01:00.0 passed"));
  EXPECT_EQ(attribute_text((*all)[2], "message"), "a page could not be written");
}

constexpr std::string_view kDcgm4 = R"({"DCGM Diagnostic": {"test_categories": [
    {"category": "Deployment", "tests": [{"name": "software", "results": [
      {"entity_group": "GPU", "entity_id": 0, "status": "Pass"},
      {"entity_group": "GPU", "entity_id": 1, "status": "Warn",
       "warnings": [{"warning": "persistence mode is off", "error_id": 13}]}],
      "test_summary": {"status": "Warn"}}]},
    {"category": "Stress", "tests": [{"name": "targeted_power", "results": [
      {"entity_group": "GPU", "entity_id": 0, "status": "Fail"},
      {"entity_group": "GPU", "entity_id": 1, "status": "Pass"}],
      "test_summary": {"status": "Fail"}}]}]},
  "entity_groups": [{"entity_group": "GPU", "entity_group_id": 1, "entities": [
    {"entity_id": 0, "serial_num": "S0"}, {"entity_id": 1, "serial_num": "S1"}]}]})";

TEST(DcgmWords, of_version_4_failures_and_warnings_are_of_the_gpus_they_name) {
  const auto all = dcgm_words(kDcgm4, dcgm_test_of({dcgm_gpu(0), dcgm_gpu(1)}));
  EXPECT_THAT(dcgm_lines(all), ElementsAre("host passed", "gpu/0000:00:00.0 failed targeted_power",
                                           "gpu/0000:01:00.0 warned software"));
  ASSERT_FALSE(all->empty());
  EXPECT_EQ(all->front().value, Value(std::string("tested")));
  EXPECT_EQ(attribute_text(all->front(), "level"), "2");
}

// Two GPUs, of which the first shows these warnings in the test of PCIe.
std::string pcie_of_4(const std::string& warnings) {
  return R"({"DCGM Diagnostic": {"test_categories": [{"category": "Integration", "tests": [{"name": "pcie", "results": [
      {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 0, "status": "Fail", "warnings": [)" +
         warnings + R"(]},
      {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 1, "status": "Pass"}],
      "test_summary": {"status": "Fail"}}]}]}})";
}
std::string pcie_of_3(const std::string& warnings) {
  return R"({"DCGM GPU Diagnostic": {"version": "3.3.5", "test_categories": [{"category": "Integration", "tests": [
      {"name": "PCIe", "results": [{"gpu_id": "0", "status": "Fail", "warnings": [)" +
         warnings + R"(]}, {"gpu_id": "1", "status": "Pass"}]}]}]}})";
}

// NVIDIA/NVSentinel #1358: an Xid of a program fell into the test. IBM/autopilot #68 is the other one.
TEST(DcgmWords, an_error_that_tells_of_no_hardware_is_not_fatal) {
  const auto* xid =
      R"({"error_category": 7, "error_id": 101, "error_severity": 4, "warning": "Detected XID 45 for GPU 0 Please consult the documentation"})";
  const auto* generation =
      R"({"error_id": 45, "warning": "GPU 0 is running at PCI link generation 3, which is below the minimum allowed"})";
  const auto* width =
      R"({"error_id": 46, "warning": "GPU 0 is running at PCI link width 8X, which is below"})";
  const auto* replays =
      R"({"error_id": 45, "error_category": 4, "error_severity": 4, "warning": "Detected 12 PCIe replays for GPU 0; bandwidth of 5.2 failed to meet the minimum bandwidth of 10.0"})";
  const auto* bandwidth = R"({"error_id": 30, "warning": "Bandwidth of GPU 0 in direction h2d of 5.20"})";
  const auto* unnumbered = R"("Bandwidth of GPU 0")";
  struct Case {
    std::string warnings;
    const char* said;
  };
  for (const auto& [warnings, said] :
       {Case{xid, "failed"}, Case{generation, "failed"}, Case{width, "failed"}, Case{replays, "fatal"},
        Case{bandwidth, "fatal"}, Case{unnumbered, "fatal"}, Case{std::string(xid) + "," + width, "failed"},
        Case{std::string(xid) + "," + bandwidth, "fatal"},
        Case{std::string(xid) + "," + unnumbered, "fatal"}})
    for (const std::string& document : {pcie_of_4(warnings), pcie_of_3(warnings)}) {
      const auto all = dcgm_words(document, dcgm_test_of({dcgm_gpu(0), dcgm_gpu(1)}));
      EXPECT_THAT(dcgm_lines(all),
                  ElementsAre("host passed", std::string("gpu/0000:00:00.0 ") + said + " pcie",
                              "gpu/0000:01:00.0 passed"))
          << document;
    }
  const auto both = dcgm_words(pcie_of_4(std::string(xid) + "," + bandwidth), dcgm_test_of({dcgm_gpu(0)}));
  EXPECT_EQ(attribute_text((*both)[2], "message"), "Bandwidth of GPU 0 in direction h2d of 5.20")
      << "what makes it fatal is told";
}

// NVIDIA/DCGM #284: most of the memory could not be allocated, and the status is Pass.
TEST(DcgmWords, a_pass_with_a_warning_beside_it_is_no_plain_pass) {
  for (const char* warnings : {R"("only 31.0% could be tested.")", R"(["only 31.0% could be tested."])",
                               R"([{"warning": "only 31.0% could be tested.", "error_id": 56}])"}) {
    const std::string of_3 =
        std::string(R"({"DCGM GPU Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
      {"name": "GPU Memory", "results": [{"gpu_id": "0", "status": "Pass", "warnings": )") +
        warnings + R"(}, {"gpu_id": "1", "status": "Pass", "info": "allocated 98%"}]}]}]}})";
    const std::string of_4 =
        std::string(R"({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
      {"name": "memory", "results": [{"entity_group": "GPU", "entity_id": 0, "status": "Pass", "warnings": )") +
        warnings + R"(}, {"entity_group": "GPU", "entity_id": 1, "status": "Pass"}],
      "test_summary": {"status": "Pass"}}]}]}})";
    for (const std::string& document : {of_3, of_4}) {
      const auto all = dcgm_words(document, dcgm_test_of({dcgm_gpu(0), dcgm_gpu(1)}));
      const auto lines = dcgm_lines(all);
      ASSERT_EQ(lines.size(), 3U) << document;
      EXPECT_TRUE(lines[1].starts_with("gpu/0000:00:00.0 warned ")) << lines[1];
      EXPECT_EQ(attribute_text((*all)[2], "message"), "only 31.0% could be tested.");
      EXPECT_EQ(lines[2], "gpu/0000:01:00.0 passed");
    }
  }
}

TEST(DcgmWords, a_warned_gpu_has_not_passed_where_another_failed_the_same_test) {
  const auto all = dcgm_words(R"({"DCGM GPU Diagnostic": {"test_categories": [
      {"category": "Hardware", "tests": [{"name": "GPU Memory", "results": [
        {"gpu_id": "0", "status": "Warn", "warnings": "a page was remapped"},
        {"gpu_id": "1", "status": "Fail", "warnings": "a page could not be written"}]}]}]}})",
                              dcgm_test_of({dcgm_gpu(0), dcgm_gpu(1)}));
  EXPECT_THAT(dcgm_lines(all), ElementsAre("host passed", "gpu/0000:00:00.0 warned gpu_memory",
                                           "gpu/0000:01:00.0 fatal gpu_memory"));
}

TEST(DcgmWords, what_names_no_gpu_of_the_test_is_about_the_node) {
  const auto all = dcgm_words(R"({"DCGM GPU Diagnostic": {"test_categories": [
      {"category": "Deployment", "tests": [
        {"name": "Permissions and OS Blocks", "results": [{"status": "Fail", "warnings": "no access"}]},
        {"name": "PCIe", "results": [{"gpu_id": "7", "status": "Fail"}, {"gpu_id": "0", "status": "Pass"}]}]}]}})",
                              dcgm_test_of({dcgm_gpu(0)}));
  EXPECT_THAT(dcgm_lines(all),
              ElementsAre("host fatal permissions_and_os_blocks,pcie", "gpu/0000:00:00.0 passed"));
}

TEST(DcgmWords, a_gpu_that_was_not_tested_has_not_passed) {
  const auto all = dcgm_words(kDcgm4, dcgm_test_of({dcgm_gpu(0), dcgm_gpu(1), dcgm_gpu(2)}));
  EXPECT_EQ(dcgm_lines(all).back(), "gpu/0000:02:00.0 unavailable");
}

// The second of two GPUs, by its words in a test of the hardware; both passed what looks at the software.
std::string document_with_second(std::string_view result) {
  return R"({"DCGM Diagnostic": {"test_categories": [
    {"category": "Deployment", "tests": [{"name": "software", "results": [
      {"entity_group": "GPU", "entity_id": 0, "status": "Pass"},
      {"entity_group": "GPU", "entity_id": 1, "status": "Pass"}]}]},
    {"category": "Hardware", "tests": [{"name": "memory", "results": [
      {"entity_group": "GPU", "entity_id": 0, "status": "Pass"})" +
         std::string(result) + R"(], "test_summary": {"status": "Pass"}}]}]},
  "entity_groups": [{"entity_group": "GPU", "entities": [{"entity_id": 0}, {"entity_id": 1}]}]})";
}

TEST(DcgmWords, a_gpu_that_was_named_and_left_out_has_not_passed) {
  for (const std::string_view result :
       {"", R"(, {"entity_group": "GPU", "entity_id": 1, "status": "Skip"})",
        R"(, {"entity_group": "GPU", "entity_id": 1, "status": "Not Run"})"}) {
    const auto all = dcgm_words(document_with_second(result), dcgm_test_of({dcgm_gpu(0), dcgm_gpu(1)}));
    EXPECT_THAT(dcgm_lines(all),
                ElementsAre("host passed", "gpu/0000:00:00.0 passed", "gpu/0000:01:00.0 unavailable"))
        << result;
  }
}

TEST(DcgmWords, a_look_at_the_software_is_no_test_of_a_gpu_where_others_were_skipped) {
  const auto all = dcgm_words(R"({"DCGM Diagnostic": {"test_categories": [
    {"category": "Deployment", "tests": [{"name": "software", "results": [
      {"entity_group": "GPU", "entity_id": 0, "status": "Pass"}]}]},
    {"category": "Hardware", "tests": [{"name": "memory", "results": [
      {"entity_group": "GPU", "entity_id": 0, "status": "Skip"}]}]}]}})",
                              dcgm_test_of({dcgm_gpu(0)}));
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().what, "no GPU was tested, only software");
}

TEST(DcgmWords, a_result_that_cannot_be_read_hides_no_failure) {
  const auto all = dcgm_words(R"({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
    {"name": "pcie", "results": [{"entity_group": "GPU", "entity_id": 0, "status": "Great"}]},
    {"name": "memory", "results": [{"entity_group": "GPU", "entity_id": 0, "status": "Pass"},
                                   {"entity_group": "GPU", "entity_id": 1, "status": "Fail"}]}]}]}})",
                              dcgm_test_of({dcgm_gpu(0), dcgm_gpu(1)}));
  EXPECT_THAT(dcgm_lines(all),
              ElementsAre("host passed", "gpu/0000:00:00.0 unavailable", "gpu/0000:01:00.0 fatal memory"));
}

TEST(DcgmWords, an_answer_that_names_no_gpu_is_about_all) {
  const auto all =
      dcgm_words(R"({"DCGM GPU Diagnostic": {"test_categories": [{"category": "Deployment", "tests": [
      {"name": "NVML Library", "results": [{"status": "Pass"}]}]}]}})",
                 dcgm_test_of({dcgm_gpu(0)}));
  EXPECT_THAT(dcgm_lines(all), ElementsAre("host passed", "gpu/0000:00:00.0 passed"));
}

TEST(DcgmWords, says_why_nothing_can_be_said) {
  const auto refused =
      dcgm_words(R"({"DCGM Diagnostic": {"runtime_error": "MIG is enabled"}})", dcgm_test_of({dcgm_gpu(0)}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "MIG is enabled");
  const auto skipped =
      dcgm_words(R"({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
      {"name": "memory", "results": [{"entity_group": "GPU", "entity_id": 0, "status": "Skip"}]}]}]}})",
                 dcgm_test_of({dcgm_gpu(0)}));
  ASSERT_FALSE(skipped);
  EXPECT_EQ(skipped.error().what, "every test was skipped");
}

TEST(DcgmWords, what_failed_counts_beside_a_problem_and_nothing_else_passes) {
  DeepTestSummary summary;
  summary.problem = "the driver went away";
  summary.tests = {{"memory", host::DcgmStatus::fail, {1}, ""}};
  summary.gpus = {{0, ""}, {1, ""}};
  const auto all = dcgm_observations(summary, dcgm_test_of({dcgm_gpu(0), dcgm_gpu(1)}));
  EXPECT_THAT(dcgm_lines(all),
              ElementsAre("host passed", "gpu/0000:00:00.0 unavailable", "gpu/0000:01:00.0 fatal memory"));
}

TEST(DcgmWords, fit_on_the_line_of_a_child) {
  DeepTestSummary summary;
  for (int i = 0; i < 200; ++i)
    summary.tests.push_back(
        {"test number " + std::to_string(i), host::DcgmStatus::fail, {0}, std::string(160, 'm')});
  const auto all = dcgm_observations(summary, dcgm_test_of({dcgm_gpu(0)}));
  ASSERT_TRUE(all);
  EXPECT_TRUE(parse_child_line(to_line(*all)));
}

}  // namespace

}  // namespace autopilot::diagnostics
