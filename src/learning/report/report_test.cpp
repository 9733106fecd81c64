// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <random>

#include "learning/report/fleet_report.hpp"

namespace autopilot::learning {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// 10 days.
constexpr WallTime kReportSince{hours(24 * 1000)};
constexpr WallTime kReportUntil = kReportSince + hours(240);
constexpr ReportInterval kTenDays{kReportSince, kReportUntil};

WallTime at_hour(int hour) {
  return kReportSince + hours(hour);
}

Place on_node(const std::string& node) {
  return {.cluster = {}, .node = node, .gpu = {}};
}

Fault node_fault(const std::string& id, const std::string& node, int begin, std::optional<int> end,
                 FaultClass kind = FaultClass::hardware) {
  Fault fault{.id = id, .place = on_node(node), .begin = at_hour(begin)};
  if (end) fault.end = at_hour(*end);
  fault.kind = kind;
  fault.health = Health::failed;
  fault.confidence = 1;
  fault.check = "gpu.xid";
  return fault;
}

NodeJob node_job(const std::string& job, const std::string& node, int start, std::optional<int> end,
                 JobOutcome outcome, const std::string& failure = "") {
  NodeJob record{.id = job + "@" + node, .place = on_node(node), .job = job, .start = at_hour(start)};
  if (end) record.end = at_hour(*end);
  record.outcome = outcome;
  record.failure = failure;
  return record;
}

Label fault_label(const std::string& fault, const std::string& node, LabelAnswer answer, LabelSource source) {
  Label label{.id = "label-" + fault, .place = on_node(node), .time = at_hour(230), .fault = fault};
  label.answer = answer;
  label.source = source;
  return label;
}

Validation validation_of(const std::string& id, const std::string& node, int end, Verdict verdict,
                         std::vector<CheckOutcome> checks) {
  Validation validation{.id = id, .place = on_node(node), .start = at_hour(end), .end = at_hour(end)};
  validation.verdict = verdict;
  validation.checks = std::move(checks);
  return validation;
}

// A node is known from the begin of the interval.
HistoryRecord versions_of(const std::string& node) {
  return Versions{.id = "versions-" + node, .place = on_node(node), .time = kReportSince - hours(1)};
}

FleetReport report_of(const std::vector<HistoryRecord>& records, std::optional<double> price = {}) {
  ReportRecords added;
  for (const HistoryRecord& record : records)
    EXPECT_TRUE(add_record(added, record));
  auto report = make_fleet_report(std::move(added), kTenDays, price);
  EXPECT_TRUE(report) << report.error().what;
  return std::move(*report);
}

const ClassFigures& class_of(const FleetReport& report, FaultClass kind) {
  return report.faults.classes[static_cast<std::size_t>(kind)];
}

TEST(FleetReports, overlapping_faults_and_repairs_make_a_node_unusable_once) {
  // a: 10 to 34 h and 30 to 40 h, repair 40 to 58 h: 48 h. b: none. 480 node-hours.
  const auto report = report_of(
      {versions_of("a"), versions_of("b"), node_fault("1", "a", 10, 34), node_fault("2", "a", 30, 40),
       Repair{.id = "r", .place = on_node("a"), .begin = at_hour(40), .end = at_hour(58)}});
  EXPECT_EQ(report.time.nodes, 2U);
  EXPECT_DOUBLE_EQ(report.time.known_hours, 480);
  EXPECT_DOUBLE_EQ(report.time.unusable_hours, 48);
  EXPECT_NEAR(*report.time.availability(), 0.9, 1e-12);
}

TEST(FleetReports, an_open_fault_lasts_until_the_end_and_an_early_one_counts_from_the_begin) {
  const auto report =
      report_of({versions_of("a"), node_fault("1", "a", -50, 10), node_fault("2", "a", 230, std::nullopt)});
  EXPECT_DOUBLE_EQ(report.time.unusable_hours, 20);
  EXPECT_EQ(class_of(report, FaultClass::hardware).faults, 1U);  // one begins in the interval
  EXPECT_EQ(class_of(report, FaultClass::hardware).open, 1U);
  EXPECT_EQ(class_of(report, FaultClass::hardware).ended, 1U);  // one ends in it, after 60 h
  EXPECT_DOUBLE_EQ(*class_of(report, FaultClass::hardware).mttr_hours, 60);
}

TEST(FleetReports, a_node_counts_from_its_first_record_on) {
  const auto report = report_of({node_fault("1", "a", 120, 132)});
  EXPECT_DOUBLE_EQ(report.time.known_hours, 120);
  EXPECT_NEAR(*report.time.availability(), 0.9, 1e-12);
}

TEST(FleetReports, faults_of_applications_degraded_and_unknown_health_leave_a_node_usable) {
  auto degraded = node_fault("1", "a", 10, 20);
  degraded.health = Health::degraded;
  auto unknown = node_fault("2", "a", 10, 20);
  unknown.health = Health::unknown;
  const auto report =
      report_of({versions_of("a"), degraded, unknown, node_fault("3", "a", 10, 20, FaultClass::application)});
  EXPECT_DOUBLE_EQ(report.time.unusable_hours, 0);
  EXPECT_EQ(report.time.of_unknown, 1U);
}

TEST(FleetReports, an_incident_that_was_merged_into_another_is_no_second_fault) {
  auto merged = node_fault("1", "a", 10, 20);
  merged.confidence = 0;
  merged.text = "part of a/2";
  const auto report = report_of({versions_of("a"), merged, node_fault("2", "a", 10, 20)});
  EXPECT_EQ(class_of(report, FaultClass::hardware).faults, 1U);
}

TEST(FleetReports, mtbf_and_mttr_are_by_class) {
  const auto report =
      report_of({versions_of("a"), versions_of("b"), node_fault("1", "a", 10, 12),
                 node_fault("2", "b", 10, 16), node_fault("3", "b", 100, 101, FaultClass::network)});
  const ClassFigures& hardware = class_of(report, FaultClass::hardware);
  EXPECT_DOUBLE_EQ(*hardware.mtbf_hours, 240);
  EXPECT_DOUBLE_EQ(*hardware.mttr_hours, 4);
  EXPECT_LT(*hardware.mtbf_low_hours, 240);
  EXPECT_GT(*hardware.mtbf_high_hours, 240);
  EXPECT_DOUBLE_EQ(*class_of(report, FaultClass::network).mtbf_hours, 480);
  // Without a fault there is only a low bound: the rule of three.
  const ClassFigures& software = class_of(report, FaultClass::software);
  EXPECT_FALSE(software.mtbf_hours);
  EXPECT_NEAR(*software.mtbf_low_hours, 160, 0.5);
  EXPECT_FALSE(software.mtbf_high_hours);
}

TEST(FleetReports, the_detection_delay_leaves_out_what_is_unknown) {
  std::vector<HistoryRecord> records{versions_of("a")};
  for (int i = 1; i <= 10; ++i) {
    auto fault = node_fault(std::to_string(i), "a", i, i + 1);
    fault.detected = fault.begin + seconds(i);
    records.emplace_back(fault);
  }
  records.emplace_back(node_fault("undetected", "a", 20, 21));
  auto impossible = node_fault("impossible", "a", 22, 23);
  impossible.detected = impossible.begin - seconds(1);
  records.emplace_back(impossible);
  const auto report = report_of(records);
  EXPECT_EQ(report.faults.delay.known, 10U);
  EXPECT_EQ(report.faults.delay.unknown, 2U);
  EXPECT_DOUBLE_EQ(*report.faults.delay.median_seconds, 5);
  EXPECT_DOUBLE_EQ(*report.faults.delay.p90_seconds, 9);
}

// Three findings that an RMA confirms, one that a user refutes and 30 h of jobs confirm, one without a label.
std::vector<HistoryRecord> labelled_records() {
  std::vector<HistoryRecord> records{versions_of("a"), versions_of("b")};
  for (const char* id : {"1", "2", "3"}) {
    records.emplace_back(node_fault(id, "a", 10, 20));
    records.emplace_back(fault_label(id, "a", LabelAnswer::faulty, LabelSource::rma));
  }
  records.emplace_back(node_fault("4", "b", 10, std::nullopt));
  records.emplace_back(fault_label("4", "b", LabelAnswer::healthy, LabelSource::user));
  records.emplace_back(node_job("job", "b", 20, 50, JobOutcome::completed));
  records.emplace_back(node_fault("5", "a", 100, 110));
  return records;
}

TEST(FleetReports, precision_comes_from_labels_by_trust_and_a_missing_label_is_neither) {
  const auto report = report_of(labelled_records());
  EXPECT_EQ(report.findings.findings, 5U);
  EXPECT_EQ(report.findings.unlabelled, 1U);
  EXPECT_EQ(report.findings.all.right, 3U);
  EXPECT_EQ(report.findings.all.wrong, 1U);
  EXPECT_DOUBLE_EQ(*report.findings.all.precision, 0.75);
  // Exact bounds of 3 of 4.
  EXPECT_NEAR(report.findings.all.bounds.low, 0.1941, 1e-4);
  EXPECT_NEAR(report.findings.all.bounds.high, 0.9937, 1e-4);
  ASSERT_EQ(report.findings.by_trust.size(), 2U);
  EXPECT_DOUBLE_EQ(report.findings.by_trust[0].trust, 0.95);
  EXPECT_EQ(report.findings.by_trust[0].right, 3U);
  EXPECT_NEAR(report.findings.by_trust[0].bounds.low, 0.2924, 1e-4);  // 0.025^(1/3)
  EXPECT_DOUBLE_EQ(report.findings.by_trust[0].bounds.high, 1);
  EXPECT_DOUBLE_EQ(report.findings.by_trust[1].trust, 0.7);
  EXPECT_EQ(report.findings.by_trust[1].wrong, 1U);
  EXPECT_EQ(report.faults.labelled_healthy, 1U);
  EXPECT_EQ(class_of(report, FaultClass::hardware).faults, 4U);
}

TEST(FleetReports, a_healthy_label_without_work_on_the_node_settles_nothing) {
  auto records = labelled_records();
  std::erase_if(records, [](const HistoryRecord& one) { return std::holds_alternative<NodeJob>(one); });
  const auto report = report_of(records);
  EXPECT_EQ(report.findings.all.wrong, 0U);
  EXPECT_EQ(report.findings.unlabelled, 2U);
}

TEST(FleetReports, agreement_of_detectors_alone_is_shown_and_not_counted) {
  const auto report = report_of({versions_of("a"), node_fault("1", "a", 1, 2),
                                 fault_label("1", "a", LabelAnswer::faulty, LabelSource::agreement)});
  EXPECT_FALSE(report.findings.all.precision);
  ASSERT_EQ(report.findings.by_trust.size(), 1U);
  EXPECT_EQ(report.findings.by_trust[0].right, 1U);
}

TEST(FleetReports, a_check_gets_credit_for_what_no_other_check_found) {
  const CheckOutcome nvlink{
      .check = "gpu.nvlink", .gpu = {}, .health = Health::failed, .reason = {}, .text = {}};
  const CheckOutcome gemm{.check = "gpu.gemm", .gpu = {}, .health = Health::failed, .reason = {}, .text = {}};
  CheckOutcome good = gemm;
  good.health = Health::healthy;
  CheckOutcome unknown = nvlink;
  unknown.health = Health::unknown;
  const auto report = report_of({validation_of("1", "a", 10, Verdict::failed, {nvlink, gemm}),
                                 validation_of("2", "a", 20, Verdict::failed, {nvlink, good}),
                                 validation_of("3", "a", 30, Verdict::passed, {unknown, good})});
  ASSERT_EQ(report.findings.checks.size(), 2U);
  EXPECT_EQ(report.findings.checks[0].check, "gpu.nvlink");
  EXPECT_EQ(report.findings.checks[0].validations, 2U);
  EXPECT_EQ(report.findings.checks[0].finds, 2U);
  EXPECT_EQ(report.findings.checks[0].unique, 1U);
  EXPECT_EQ(report.findings.checks[1].validations, 3U);
  EXPECT_EQ(report.findings.checks[1].finds, 1U);
  EXPECT_EQ(report.findings.checks[1].unique, 0U);
}

TEST(FleetReports, a_validation_is_compared_with_the_last_answer_of_its_node) {
  const auto outcome = [](Health health) {
    return CheckOutcome{.check = "gpu.ecc", .gpu = "1", .health = health, .reason = {}, .text = {}};
  };
  const auto report = report_of({
      validation_of("0", "a", -20, Verdict::passed, {outcome(Health::healthy)}),  // before the interval
      validation_of("1", "a", 10, Verdict::unknown, {outcome(Health::unknown)}),
      validation_of("2", "a", 20, Verdict::failed, {outcome(Health::degraded)}),  // worse than 0
      validation_of("3", "a", 30, Verdict::failed, {outcome(Health::degraded)}),
      validation_of("4", "b", 40, Verdict::failed, {outcome(Health::failed)}),  // the first of b
  });
  EXPECT_EQ(report.validations.verdicts[static_cast<std::size_t>(Verdict::failed)], 3U);
  EXPECT_EQ(report.validations.verdicts[static_cast<std::size_t>(Verdict::unknown)], 1U);
  EXPECT_EQ(report.validations.verdicts[static_cast<std::size_t>(Verdict::passed)], 0U);
  EXPECT_EQ(report.validations.compared, 2U);
  EXPECT_EQ(report.validations.worse, 1U);
}

TEST(FleetReports, lost_gpu_hours_are_those_of_whole_jobs_that_hardware_ended) {
  auto first = node_job("train", "a", 0, 10, JobOutcome::failed, "hardware");
  first.job_gpus = 16;
  auto second = node_job("train", "b", 0, 10, JobOutcome::unknown);
  second.job_gpus = 16;
  auto seen = node_job("small", "b", 20, 25, JobOutcome::failed, "hardware");
  seen.gpus = {"1", "2"};
  const auto report = report_of(
      {first, second, seen, node_job("no-gpus", "a", 1, 2, JobOutcome::failed, "hardware"),
       node_job("own", "a", 1, 2, JobOutcome::failed, "application"),
       node_job("why", "a", 1, 2, JobOutcome::failed, "unclear"),
       node_job("done", "a", 1, 2, JobOutcome::completed), node_job("runs", "a", 1, std::nullopt, {})},
      2.5);
  EXPECT_EQ(report.jobs.records, 8U);
  EXPECT_EQ(report.jobs.ended, 6U);
  EXPECT_EQ(report.jobs.running, 1U);
  EXPECT_EQ(report.jobs.outcomes[static_cast<std::size_t>(JobOutcome::failed)], 5U);
  EXPECT_EQ(report.jobs.outcomes[static_cast<std::size_t>(JobOutcome::completed)], 1U);
  EXPECT_EQ(report.jobs.lost.jobs, 3U);
  EXPECT_EQ(report.jobs.lost.of_unknown, 1U);
  EXPECT_EQ(report.jobs.lost.failed_of_unknown, 1U);
  EXPECT_DOUBLE_EQ(*report.jobs.lost.most_hours, 16 * 10 + 2 * 5);
  EXPECT_DOUBLE_EQ(*report.jobs.lost.most_cost, 170 * 2.5);
}

TEST(FleetReports, the_nodes_with_most_faults_come_first) {
  const auto report =
      report_of({node_fault("1", "b", 1, 2), node_fault("2", "a", 1, 2), node_fault("3", "c", 10, 12),
                 node_fault("4", "c", 20, 22, FaultClass::software)});
  ASSERT_EQ(report.faults.worst.size(), 3U);
  EXPECT_EQ(report.faults.worst[0].node, "c");
  EXPECT_EQ(report.faults.worst[0].hardware, 1U);
  EXPECT_DOUBLE_EQ(report.faults.worst[0].unusable_hours, 4);
  EXPECT_EQ(report.faults.worst[1].node, "a");
}

TEST(FleetReports, an_empty_history_makes_every_figure_unknown) {
  const auto report = report_of({}, 2.5);
  EXPECT_EQ(report.time.nodes, 0U);
  EXPECT_FALSE(report.time.availability());
  EXPECT_FALSE(class_of(report, FaultClass::hardware).mtbf_low_hours);
  EXPECT_FALSE(report.faults.delay.median_seconds);
  EXPECT_FALSE(report.findings.all.precision);
  EXPECT_FALSE(report.jobs.lost.most_hours);
  EXPECT_FALSE(report.jobs.lost.most_cost);
  EXPECT_TRUE(report.lemons.rows.empty());
}

TEST(FleetReports, an_empty_interval_is_refused) {
  const auto report = make_fleet_report({}, {kReportUntil, kReportUntil}, std::nullopt);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::malformed);
}

TEST(FleetReports, the_order_of_records_and_repeated_records_have_no_influence) {
  auto records = labelled_records();
  auto open = node_fault("2", "a", 10, std::nullopt);  // the same incident, in an older copy of the history
  records.emplace_back(open);
  const auto first = report_of(records);
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(records, random);
    const auto other = report_of(records);
    EXPECT_EQ(other.time.unusable_hours, first.time.unusable_hours);
    EXPECT_EQ(other.findings.all.right, first.findings.all.right);
    EXPECT_EQ(class_of(other, FaultClass::hardware).faults, 4U);
    EXPECT_EQ(class_of(other, FaultClass::hardware).open, 0U);
    ASSERT_EQ(other.lemons.rows.size(), first.lemons.rows.size());
    for (std::size_t row = 0; row < first.lemons.rows.size(); ++row) {
      EXPECT_EQ(other.lemons.rows[row].node, first.lemons.rows[row].node);
      EXPECT_EQ(other.lemons.rows[row].plan.lemon.probability, first.lemons.rows[row].plan.lemon.probability);
    }
  }
}

// A fleet of 100 nodes, known for 100 days, one of which fails again and again.
ReportRecords fleet_with_a_lemon(bool names_jobs) {
  ReportRecords records;
  for (int i = 0; i < 100; ++i) {
    const auto node = "n" + std::to_string(i);
    EXPECT_TRUE(add_record(
        records, Versions{.id = node, .place = on_node(node), .time = kReportUntil - hours(24 * 100)}));
  }
  for (int i = 0; i < 10; ++i) {
    auto fault = node_fault("f" + std::to_string(i), "n7", 240 - 24 * (i + 1) * 2, 240 - 48 * (i + 1) + 12);
    if (names_jobs) fault.job = "job-" + std::to_string(i);
    EXPECT_TRUE(add_record(records, fault));
  }
  auto single = node_fault("single", "n8", 150, 168);
  if (names_jobs) single.job = "job-8";
  EXPECT_TRUE(add_record(records, single));
  return records;
}

TEST(LemonLists, a_node_that_fails_again_and_again_is_first_with_the_budget_of_the_fleet) {
  const auto list = lemon_list(fleet_with_a_lemon(true), kReportUntil);
  ASSERT_TRUE(list) << list.error().what;
  EXPECT_EQ(list->nodes, 100U);
  EXPECT_EQ(list->faults, 11U);
  EXPECT_EQ(list->budget, 1U);
  EXPECT_NEAR(list->days, 100, 1e-9);
  ASSERT_EQ(list->rows.size(), 2U);
  const LemonRow& lemon = list->rows[0];
  EXPECT_EQ(lemon.node, "n7");
  EXPECT_EQ(lemon.faults, 10U);
  EXPECT_TRUE(lemon.plan.is_lemon);
  EXPECT_GT(lemon.plan.lemon.probability, 0.9);
  EXPECT_EQ(lemon.plan.largest_job_gpus, 0);
  // Its last return is 36 h ago: probation for 36 h more; the re-check after 24 h is overdue.
  EXPECT_EQ(lemon.last_return, kReportUntil - hours(36));
  EXPECT_EQ(lemon.probation_until, kReportUntil + hours(36));
  EXPECT_EQ(lemon.next_recheck, kReportUntil - hours(12));
  // The other returned 3 days ago: its probation is over, and no re-check was done.
  EXPECT_FALSE(list->rows[1].plan.is_lemon);
  EXPECT_FALSE(list->rows[1].probation_until);
  EXPECT_TRUE(list->rows[1].next_recheck);
}

TEST(LemonLists, a_validation_that_passed_is_the_recheck) {
  auto records = fleet_with_a_lemon(true);
  ASSERT_TRUE(add_record(records, validation_of("v", "n8", 239, Verdict::unknown, {})));
  EXPECT_TRUE(lemon_list(records, kReportUntil)->rows[1].next_recheck);
  ASSERT_TRUE(add_record(records, validation_of("w", "n8", 240, Verdict::passed, {})));
  const auto list = lemon_list(records, kReportUntil + seconds(1));
  ASSERT_EQ(list->rows.size(), 2U);
  EXPECT_FALSE(list->rows[1].next_recheck);
}

TEST(LemonLists, without_the_name_of_a_job_no_jobs_are_required) {
  const auto list = lemon_list(fleet_with_a_lemon(false), kReportUntil);
  ASSERT_TRUE(list);
  EXPECT_FALSE(list->knows_jobs);
  EXPECT_TRUE(list->rows[0].plan.is_lemon);
}

TEST(LemonLists, a_single_node_is_not_its_own_reference) {
  ReportRecords records;
  ASSERT_TRUE(
      add_record(records, Versions{.id = "v", .place = on_node("a"), .time = kReportUntil - hours(24 * 60)}));
  for (int i = 0; i < 12; ++i)
    ASSERT_TRUE(add_record(records, node_fault(std::to_string(i), "a", 20 * i, 20 * i + 1)));
  const auto list = lemon_list(records, kReportUntil);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->rows.size(), 1U);
  EXPECT_TRUE(list->rows[0].plan.is_lemon);
}

TEST(LemonLists, an_empty_history_has_no_lemon) {
  const auto list = lemon_list({}, kReportUntil);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->nodes, 0U);
  EXPECT_TRUE(list->rows.empty());
}

TEST(ReportRecordLimits, one_record_too_many_is_refused) {
  ReportRecords records;
  records.labels.resize(ReportRecords::kMostRecords);
  const auto added = add_record(records, node_fault("1", "a", 1, 2));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::exhausted);
}

TEST(ReportRecordLimits, one_node_too_many_is_refused) {
  ReportRecords records;
  for (std::size_t i = 0; i < ReportRecords::kMostKnownNodes; ++i)
    records.first_seen.emplace("n" + std::to_string(i), kReportSince);
  EXPECT_TRUE(add_record(records, versions_of("n1")));
  const auto added = add_record(records, versions_of("another"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::exhausted);
}

}  // namespace
}  // namespace autopilot::learning
