// SPDX-License-Identifier: Apache-2.0
#include "report/node_words.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

CheckResult result(const std::string& check, Health health, bool required = false) {
  CheckResult result;
  result.check = check;
  result.health = health;
  result.required = required;
  result.completed = WallTime{std::chrono::seconds{1}};
  return result;
}

Finding finding(SubjectKind kind, const std::string& key, Health health, const std::string& message) {
  Finding finding;
  finding.subject.kind = kind;
  finding.subject.key = key;
  finding.health = health;
  finding.reason = "some_reason";
  finding.message = message;
  return finding;
}

CheckResult bad(const std::string& check, const Finding& one) {
  CheckResult made = result(check, one.health);
  made.findings = {one};
  return made;
}

ConditionWords condition(const CheckResults& results, std::size_t which) {
  NodeSnapshot snapshot;
  snapshot.results = results;
  return words_of(snapshot, Verdict::pass).conditions.at(which);
}
constexpr std::size_t kGpu = 0;
constexpr std::size_t kNetwork = 1;
constexpr std::size_t kHost = 3;

TEST(NodeWords, say_that_all_is_well_and_how_much_was_seen) {
  const auto gpu = condition({result("gpu.ecc", Health::healthy), result("gpu.xid", Health::unknown),
                              result("gpu.mig", Health::unsupported)},
                             kGpu);
  EXPECT_EQ(gpu, (ConditionWords{"GpuHealthy", "True", "Healthy", "1 of 2 checks ran"}));
}

TEST(NodeWords, name_the_worst_and_count_the_others) {
  CheckResult many =
      bad("gpu.ecc", finding(SubjectKind::gpu, "0000:3b:00.0", Health::degraded, "corrected errors"));
  many.findings.push_back(finding(SubjectKind::gpu, "0000:86:00.0", Health::failed, "uncorrected errors"));
  const auto gpu = condition({many}, kGpu);
  EXPECT_EQ(gpu, (ConditionWords{"GpuHealthy", "False", "Failed",
                                 "gpu/0000:86:00.0: uncorrected errors; and 1 more"}));
  const auto one = condition(
      {bad("network.ib_port", finding(SubjectKind::nic_port, "mlx5_0/1", Health::degraded, "flaps"))},
      kNetwork);
  EXPECT_EQ(one, (ConditionWords{"NetworkHealthy", "False", "Degraded", "nic_port/mlx5_0/1: flaps"}));
}

TEST(NodeWords, a_gpu_is_a_gpu_whichever_check_speaks_of_it) {
  const CheckResults results = {
      result("gpu.ecc", Health::healthy),
      bad("host.pcie", finding(SubjectKind::gpu, "0000:3b:00.0", Health::degraded, "errors on its link"))};
  EXPECT_EQ(condition(results, kGpu).status, "False");
  EXPECT_EQ(condition(results, kHost).status, "True");
}

TEST(NodeWords, a_required_check_that_did_not_look_makes_a_condition_unknown) {
  const CheckResults results = {result("gpu.ecc", Health::healthy),
                                result("gpu.driver", Health::unknown, true)};
  EXPECT_EQ(condition(results, kGpu), (ConditionWords{"GpuHealthy", "Unknown", "NotLooked",
                                                      "1 of 2 checks ran; no result of gpu.driver"}));
  EXPECT_EQ(condition({result("network.dns", Health::unknown)}, kNetwork).status, "Unknown");
}

TEST(NodeWords, where_nothing_of_the_kind_is_nothing_is_wrong) {
  EXPECT_EQ(
      condition({result("gpu.ecc", Health::unsupported)}, kGpu),
      (ConditionWords{"GpuHealthy", "True", "NothingHere", "no check of this group applies to this node"}));
}

TEST(NodeWords, checks_of_an_operator_speak_of_the_host) {
  EXPECT_EQ(
      condition({bad("site.license", finding(SubjectKind::host, "", Health::failed, "no license"))}, kHost)
          .status,
      "False");
}

TEST(NodeWords, an_injected_finding_changes_nothing) {
  Finding injected = finding(SubjectKind::gpu, "0000:3b:00.0", Health::failed, "made up");
  injected.injected = true;
  CheckResult made = result("gpu.ecc", Health::healthy);
  made.findings = {injected};
  EXPECT_EQ(condition({made}, kGpu).status, "True");
}

TEST(NodeWords, the_label_is_the_written_word) {
  NodeSnapshot snapshot;
  EXPECT_EQ(words_of(snapshot, Verdict::evict).gpuhealth, "EVICT");
  EXPECT_EQ(words_of(snapshot, Verdict::none).gpuhealth, "");
}

TEST(NodeWords, the_summary_begins_with_the_worst_incident_and_fits) {
  NodeSnapshot snapshot;
  snapshot.coverage = {31, 35, {}};
  EXPECT_EQ(words_of(snapshot, Verdict::pass).summary, "31 of 35 checks ran");
  for (const auto& [health, text] : {std::pair{Health::degraded, std::string("GPU 1 is hot")},
                                     std::pair{Health::failed, "GPU 2 " + std::string(300, 'x')}}) {
    Incident incident;
    incident.health = health;
    incident.summary = text;
    snapshot.incidents.push_back(incident);
  }
  const std::string summary = words_of(snapshot, Verdict::warn).summary;
  EXPECT_EQ(summary.size(), NodeWords::kMaxSummary);
  EXPECT_THAT(summary, StartsWith("GPU 2 xxx"));
  EXPECT_THAT(summary, EndsWith("...; and 1 more; 31 of 35 checks ran"));
}

TEST(NodeWords, the_summary_says_why_evict_stays_where_no_incident_does) {
  NodeSnapshot snapshot;
  snapshot.coverage = {31, 35, {}};
  EXPECT_EQ(words_of(snapshot, Verdict::evict, "EVICT stays").summary, "EVICT stays; 31 of 35 checks ran");
}

TEST(NodeWords, texts_are_cut_between_characters) {
  std::string text;
  for (int i = 0; i < 600; ++i)
    text += "ä";
  const auto gpu = condition({bad("gpu.ecc", finding(SubjectKind::gpu, "k", Health::failed, text))}, kGpu);
  EXPECT_LE(gpu.message.size(), ConditionWords::kMaxMessage);
  EXPECT_EQ(gpu.message.size() % 2, 0U) << "half a character";
  EXPECT_THAT(gpu.message, HasSubstr("ä..."));
}

}  // namespace
}  // namespace autopilot::report
