// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/dcgm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::host {

// The samples are written for these tests, in the shape of the sources that the header names.

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

DcgmDiagnosis parsed(std::string_view text) {
  const auto diagnosis = parse_dcgm_diagnosis(text);
  EXPECT_TRUE(diagnosis) << diagnosis.error().what;
  return diagnosis.value_or(DcgmDiagnosis{});
}

std::string problem_of(std::string_view text) {
  const auto diagnosis = parse_dcgm_diagnosis(text);
  return diagnosis ? "none" : std::string(to_string(diagnosis.error().code)) + ": " + diagnosis.error().what;
}

constexpr std::string_view kDcgm3 = R"(Successfully ran diagnostic for group.
{
  "DCGM GPU Diagnostic" : {
    "DCGM Version" : "3.3.9", "Driver Version Detected" : "550.54", "version" : "3.3.9",
    "GPU Device IDs" : ["2330", "2330"],
    "GPU Device Serials" : {"0" : "1650000000001", "1" : "1650000000002"},
    "test_categories" : [
      {"category" : "Deployment", "tests" : [
        {"name" : "Denylist", "results" : [{"status" : "Pass"}]},
        {"name" : "Page Retirement/Row Remap", "results" : [{"status" : "Pass", "info" : "fine"}]}]},
      {"category" : "Hardware", "tests" : [
        {"name" : "GPU Memory", "results" : [
          {"gpu_id" : "0", "status" : "Pass", "info" : "Allocated 83880116838 bytes"},
          {"gpu_id" : "1", "status" : "Fail", "warnings" : [
            {"warning" : "A DBE occurred\non GPU 1.", "error_id" : 40, "error_category" : 2, "error_severity" : 3}]}]}]},
      {"category" : "Stress", "tests" : [
        {"name" : "Targeted Power", "results" : [
          {"gpu_ids" : "0,1", "status" : "Skip", "warnings" : "Not for this GPU"},
          {"gpu_id" : "1", "status" : ""}]}]}]
  }
}
)";

TEST(DcgmDiagnosis, reads_what_dcgm_3_says) {
  const DcgmDiagnosis diagnosis = parsed(kDcgm3);
  EXPECT_EQ(diagnosis.version, "3.3.9");
  EXPECT_EQ(diagnosis.driver, "550.54");
  EXPECT_THAT(diagnosis.gpus, ElementsAre(DcgmGpu{0, "1650000000001"}, DcgmGpu{1, "1650000000002"}));
  ASSERT_THAT(diagnosis.results, SizeIs(5));
  EXPECT_EQ(diagnosis.results[0].test, "Denylist");
  EXPECT_EQ(diagnosis.results[0].category, "Deployment");
  EXPECT_THAT(diagnosis.results[0].gpus, IsEmpty());
  EXPECT_EQ(diagnosis.results[0].status, DcgmStatus::pass);
  const DcgmResult& memory = diagnosis.results[3];
  EXPECT_EQ(memory.test, "GPU Memory");
  EXPECT_EQ(memory.status, DcgmStatus::fail);
  EXPECT_THAT(memory.gpus, ElementsAre(1U));
  ASSERT_THAT(memory.messages, SizeIs(1));
  EXPECT_EQ(memory.messages[0].text, "A DBE occurred on GPU 1.");
  EXPECT_EQ(memory.messages[0].error, 40);
  EXPECT_THAT(diagnosis.results[4].gpus, ElementsAre(0U, 1U));
  EXPECT_EQ(diagnosis.results[4].messages[0].text, "Not for this GPU");
  EXPECT_EQ(diagnosis.results[4].status, DcgmStatus::skip);
}

constexpr std::string_view kDcgm4 = R"({
  "DCGM Diagnostic" : {"test_categories" : [
    {"category" : "Deployment", "tests" : [
      {"name" : "software", "results" : [
        {"entity_group" : "GPU", "entity_group_id" : 1, "entity_id" : 0, "status" : "Pass"},
        {"entity_group" : "GPU", "entity_group_id" : 1, "entity_id" : 3, "status" : "Fail", "warnings" : [
          {"error_category" : 8, "error_id" : 29, "error_severity" : 5, "warning" : "Persistence mode is off."}]}],
       "test_summary" : {"status" : "Fail"}}]},
    {"category" : "Hardware", "tests" : [
      {"name" : "memory", "results" : [
        {"entity_group" : "GPU", "entity_group_id" : 1, "entity_id" : 0, "status" : "Pass"},
        {"entity_group" : "GPU", "entity_group_id" : 1, "entity_id" : 3, "status" : "Pass"}],
       "test_summary" : {"status" : "Pass"}},
      {"name" : "cpu_eud", "results" : [
        {"entity_group" : "CPU", "entity_group_id" : 7, "entity_id" : 0, "status" : "Skip"}],
       "test_summary" : {"status" : "Skip"}},
      {"name" : "pcie", "results" : [],
       "test_summary" : {"status" : "Fail", "warnings" : [{"error_id" : 1, "warning" : "It died."}]}}]}]},
  "entity_groups" : [
    {"entity_group" : "GPU", "entity_group_id" : 1, "entities" : [
      {"device_id" : "2330", "entity_id" : 3, "serial_num" : "1650000000004"},
      {"device_id" : "2330", "entity_id" : 0}]},
    {"entity_group" : "CPU", "entity_group_id" : 7, "entities" : [{"device_id" : "", "entity_id" : 0}]}],
  "metadata" : {"Driver Version Detected" : "570.86", "version" : "4.2.3"}
})";

TEST(DcgmDiagnosis, reads_what_dcgm_4_says) {
  const DcgmDiagnosis diagnosis = parsed(kDcgm4);
  EXPECT_EQ(diagnosis.version, "4.2.3");
  EXPECT_EQ(diagnosis.driver, "570.86");
  EXPECT_THAT(diagnosis.gpus, ElementsAre(DcgmGpu{0, ""}, DcgmGpu{3, "1650000000004"}));
  ASSERT_THAT(diagnosis.results, SizeIs(6));
  EXPECT_THAT(diagnosis.results[1].gpus, ElementsAre(3U));
  EXPECT_EQ(diagnosis.results[1].status, DcgmStatus::fail);
  EXPECT_EQ(diagnosis.results[1].messages[0].error, 29);
  EXPECT_EQ(diagnosis.results[4].entity, "CPU 0");
  EXPECT_THAT(diagnosis.results[4].gpus, IsEmpty());
}

TEST(DcgmDiagnosis, a_test_that_failed_as_a_whole_failed) {
  const DcgmResult last = parsed(kDcgm4).results.back();
  EXPECT_EQ(last.test, "pcie");
  EXPECT_EQ(last.status, DcgmStatus::fail);
  EXPECT_EQ(last.messages[0].text, "It died.");
}

TEST(DcgmDiagnosis, the_document_may_stand_among_other_lines) {
  const std::string text =
      "{not json\n[{\"a\": 1}]\n{\"b\": {}}\n" + std::string(kDcgm4) + "\nError: 3 tests {}\n";
  EXPECT_THAT(parsed(text).results, SizeIs(6));
}

// Of two runs one may have failed and the other one passed.
TEST(DcgmDiagnosis, two_documents_say_nothing) {
  const std::string passed = R"({"DCGM Diagnostic": {"test_categories": []}})";
  ASSERT_TRUE(parse_dcgm_diagnosis(passed));
  const auto both = parse_dcgm_diagnosis(passed + "\n" + passed);
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().what, HasSubstr("more than one DCGM diagnostic"));
}

TEST(DcgmDiagnosis, a_run_that_could_not_start_says_why) {
  for (const std::string name : {"DCGM GPU Diagnostic", "DCGM Diagnostic"}) {
    const DcgmDiagnosis diagnosis = parsed("{\"" + name +
                                           "\": {\"version\": \"4.2.3\", \"runtime_error\": "
                                           "\"Unable to complete diagnostic: MIG is enabled.\"}}");
    EXPECT_EQ(diagnosis.runtime_error, "Unable to complete diagnostic: MIG is enabled.");
    EXPECT_EQ(diagnosis.version, "4.2.3");
    EXPECT_THAT(diagnosis.results, IsEmpty());
  }
}

TEST(DcgmDiagnosis, what_is_no_diagnosis_is_refused) {
  for (const std::string_view text : {"", "Error: unable to connect", "{", "{}", "[]",
                                      "{\"DCGM Diagnostic\": []}", "{\"DCGM Diagnostic\": {}}"})
    EXPECT_THAT(problem_of(text), HasSubstr("malformed")) << text;
  EXPECT_THAT(problem_of(kDcgm4.substr(0, kDcgm4.size() - 40)), HasSubstr("malformed"));
}

std::string unreadable_of(std::string_view categories) {
  return parsed(R"({"DCGM Diagnostic": {"test_categories": [)" + std::string(categories) + "]}}").unreadable;
}

TEST(DcgmDiagnosis, tells_what_cannot_be_read) {
  EXPECT_THAT(unreadable_of(R"({"category": "A"})"), HasSubstr("has no `tests`"));
  EXPECT_THAT(unreadable_of(R"({"tests": [{"results": []}]})"), HasSubstr("has no name"));
  EXPECT_THAT(unreadable_of(R"({"tests": [{"name": "pcie", "results": [7]}]})"),
              HasSubstr("is not an object"));
  EXPECT_THAT(unreadable_of(R"({"tests": [{"name": "pcie", "results": [
                {"entity_group": "GPU", "status": "Pass"}]}]})"),
              HasSubstr("expected `entity_id`"));
  EXPECT_THAT(
      unreadable_of(R"({"tests": [{"name": "pcie", "results": [], "test_summary": {"status": "Good"}}]})"),
      HasSubstr("unknown status `Good`"));
  EXPECT_EQ(parsed(kDcgm4).unreadable, "");
}

TEST(DcgmDiagnosis, what_failed_is_kept_beside_what_cannot_be_read) {
  const DcgmDiagnosis diagnosis = parsed(R"({"DCGM Diagnostic": {"test_categories": [{"tests": [
    {"name": "pcie", "results": [{"entity_group": "GPU", "entity_id": 0, "status": "Great"}]},
    {"name": "memory", "results": [{"entity_group": "GPU", "entity_id": 3, "status": "Fail"},
                                   {"gpu_id": "x", "status": "Fail"}]}]}]}})");
  ASSERT_THAT(diagnosis.results, SizeIs(2));
  EXPECT_EQ(diagnosis.results[0].status, DcgmStatus::fail);
  EXPECT_THAT(diagnosis.results[0].gpus, ElementsAre(3U));
  EXPECT_EQ(diagnosis.results[1].status, DcgmStatus::fail);
  EXPECT_THAT(diagnosis.results[1].gpus, IsEmpty());
}

TEST(DcgmDiagnosis, a_test_that_did_not_run_is_not_there) {
  for (const std::string word : {"", "Not Run", "NOT_RUN"}) {
    const DcgmDiagnosis diagnosis = parsed(R"({"DCGM Diagnostic": {"test_categories": [{"tests": [
      {"name": "pcie", "results": [{"entity_group": "GPU", "entity_id": 0, "status": ")" +
                                           word + R"("}]}]}]}})");
    EXPECT_EQ(diagnosis.unreadable, "");
    EXPECT_THAT(diagnosis.results, IsEmpty());
  }
}

TEST(DcgmDiagnosis, an_unknown_word_is_never_a_pass) {
  EXPECT_THAT(unreadable_of(R"({"tests": [
    {"name": "pcie", "results": [{"entity_group": "GPU", "entity_id": 0, "status": "Great"}]}]})"),
              HasSubstr("unknown status `Great`"));
  EXPECT_THAT(unreadable_of(R"({"tests": [
    {"name": "pcie", "results": [{"gpu_id": "x", "status": "Pass"}]}]})"),
              HasSubstr("not the number of a GPU"));
  EXPECT_EQ(parse_dcgm_status(" SKIPPED "), DcgmStatus::skip);
  EXPECT_EQ(parse_dcgm_status("Warn"), DcgmStatus::warn);
  EXPECT_EQ(parse_dcgm_status("passed"), std::nullopt);
}

TEST(DcgmDiagnosis, what_is_huge_is_refused) {
  EXPECT_THAT(problem_of(std::string(kMaxDcgmBytes + 1, ' ')), HasSubstr("exhausted"));
  std::string many = R"({"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "pcie", "results": [)";
  std::string gpus = many;
  for (std::size_t i = 0; i <= kMaxDcgmResults; ++i)
    many += R"({"gpu_id": "0", "status": "Pass"},)";
  for (std::size_t i = 0; i <= kMaxDcgmGpus; ++i)
    gpus += "{\"gpu_id\": \"" + std::to_string(i) + R"(", "status": "Pass"},)";
  for (std::string* text : {&many, &gpus}) {
    text->back() = ']';
    *text += "}]}]}}";
    EXPECT_THAT(problem_of(*text), HasSubstr("exhausted"));
  }
}

const std::vector<std::string> kFatal{"PCIe", "NVLink", "ECC", "GPU Memory"};

TEST(TestWords, a_name_becomes_one_word) {
  EXPECT_EQ(test_word("Page Retirement/Row Remap"), "page_retirement_row_remap");
  EXPECT_EQ(test_word(" a|b\tc "), "a_b_c");
  EXPECT_EQ(test_word(""), "");
}

TEST(TestWords, the_list_says_what_is_fatal) {
  for (const auto* test : {"memory", "gpu_memory", "pcie", "nvlink", "memory_ecc"})
    EXPECT_TRUE(is_fatal_test(test, kFatal)) << test;
  for (const auto* test : {"memory_bandwidth", "software", "targeted_power", ""})
    EXPECT_FALSE(is_fatal_test(test, kFatal)) << test;
}

TEST(TestWords, a_name_of_blanks_makes_nothing_fatal) {
  const std::vector<std::string> blank{"", "  "};
  EXPECT_FALSE(is_fatal_test("pcie", blank));
}

TEST(TestWords, an_excuse_holds_for_the_error_and_what_its_warning_says) {
  const std::vector<DcgmExcuse> excuses{{45, "link generation"}, {47, ""}};
  EXPECT_TRUE(is_excused(45, "GPU 0 is running at PCI Link Generation 3", excuses));
  EXPECT_TRUE(is_excused(45, "", excuses));
  EXPECT_FALSE(is_excused(45, "bandwidth of 5.2 failed to meet 10.0", excuses));
  EXPECT_TRUE(is_excused(47, "whatever", excuses));
  EXPECT_FALSE(is_excused(30, "PCI link generation 3", excuses));
  EXPECT_FALSE(is_excused(std::nullopt, "PCI link generation 3", excuses)) << "DCGM 2 tells no number";
}

TEST(TestWords, excuses_are_an_argument_of_a_helper) {
  const std::vector<DcgmExcuse> excuses{{45, "link generation"}, {47, ""}};
  EXPECT_EQ(format_excuses(excuses), "45:link generation,47");
  EXPECT_EQ(parse_excuses("45:link generation,47").value(), excuses);
  EXPECT_TRUE(parse_excuses("").value().empty());
  for (const char* wrong : {"x", "45,", ",", "45:a,b", "99999999999999999999"})
    EXPECT_EQ(parse_excuses(wrong).error().code, Errc::malformed) << wrong;
}

Subject gpu(int index, const std::string& serial) {
  return {.kind = SubjectKind::gpu,
          .key = "0000:0" + std::to_string(index) + ":00.0",
          .index = index,
          .uuid = {},
          .serial = serial};
}

TEST(KnownGpu, a_gpu_of_dcgm_is_known_by_its_serial_else_by_its_number) {
  const std::vector<Subject> gpus{gpu(0, "S0"), gpu(1, "S1"), gpu(2, "")};
  EXPECT_EQ(gpu_of({0, "S1"}, gpus), &gpus[1]);
  EXPECT_EQ(gpu_of({1, ""}, gpus), &gpus[1]);
  EXPECT_EQ(gpu_of({2, "S9"}, gpus), &gpus[2]);
  EXPECT_EQ(gpu_of({0, "S9"}, gpus), nullptr);
  EXPECT_EQ(gpu_of({7, ""}, gpus), nullptr);
}

}  // namespace
}  // namespace autopilot::host
