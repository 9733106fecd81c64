// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/deep_test_words.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kBegan{std::chrono::seconds{1'800'000'000}};
const std::vector<std::string> kFatal{"PCIe", "GPU Memory"};

Subject gpu(int index, const std::string& serial) {
  return {.kind = SubjectKind::gpu,
          .key = "0000:0" + std::to_string(index) + ":00.0",
          .index = index,
          .uuid = "GPU-" + std::to_string(index),
          .serial = serial};
}
const std::vector<Subject> kGpus{gpu(0, "S0"), gpu(1, "S1"), gpu(2, "")};

DeepTestRecord record(DeepTestOutcome outcome, std::string failed = "") {
  DeepTestRecord record;
  record.outcome = outcome;
  record.test = "autopilot-deep-test-n-1800000000";
  record.level = 3;
  record.began = kBegan;
  record.finished = kBegan + 21min;
  record.failed = std::move(failed);
  return record;
}

Result<Observations> seen(DeepTestRecord record, bool is_on = true, bool has_accelerators = true) {
  return deep_test_observations({std::move(record), kGpus, is_on, has_accelerators}, kFatal);
}

std::string failed_of(const Observation& one) {
  const Value* failed = find_attribute(one.attributes, "failed");
  return failed == nullptr ? "" : autopilot::to_string(*failed);
}

// "gpu/0000:01:00.0 fatal memory"; those that failed.
std::vector<std::string> gpus_said(const Observations& all) {
  std::vector<std::string> lines;
  for (const Observation& one : all)
    if (one.name == "deep_test.gpu" && one.value != Value("not_named"))
      lines.push_back(autopilot::to_string(one.subject) + ' ' + autopilot::to_string(*one.value) + ' ' +
                      failed_of(one));
  return lines;
}

TEST(DeepTestWords, gpus_are_those_that_the_driver_listed) {
  NodeSnapshot snapshot;
  EXPECT_THAT(gpus_in(snapshot), IsEmpty());
  Observation state;
  state.name = "gpu.state";
  state.subject = kGpus[1];
  Observation other;
  other.name = "pci.driver";
  other.subject.kind = SubjectKind::gpu;
  CheckResult present;
  present.check = "gpu.present";
  present.observations = Observations{other, state};
  snapshot.results = {present};
  ASSERT_THAT(gpus_in(snapshot), SizeIs(1));
  EXPECT_EQ(gpus_in(snapshot)[0].uuid, "GPU-1");
}

TEST(DeepTestWords, a_pass_is_told_with_when_it_was) {
  const auto all = seen(record(DeepTestOutcome::passed));
  ASSERT_TRUE(all);
  // Every GPU is told of, or what was said of it before would stay.
  ASSERT_THAT(*all, SizeIs(1 + kGpus.size()));
  EXPECT_EQ(all->front().value, Value("passed"));
  EXPECT_THAT(gpus_said(*all), IsEmpty());
  EXPECT_EQ(autopilot::to_string(*find_attribute(all->front().attributes, "began")),
            "2027-01-15T08:00:00.000Z");
}

TEST(DeepTestWords, each_gpu_that_failed_is_told_with_what_failed_on_it) {
  const auto all = seen(record(DeepTestOutcome::fatal, "memory.1,targeted_power.0.1,nvlink"));
  ASSERT_TRUE(all);
  EXPECT_THAT(gpus_said(*all), ElementsAre("gpu/0000:00:00.0 failed targeted_power",
                                           "gpu/0000:01:00.0 fatal memory,targeted_power"));
}

TEST(DeepTestWords, a_gpu_that_is_not_there_and_a_text_that_was_cut_blame_nobody_else) {
  const auto all = seen(record(DeepTestOutcome::fatal, "memory.7,pcie.1...,,.2"));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->front().value, Value("fatal"));
  EXPECT_THAT(gpus_said(*all), ElementsAre("gpu/0000:01:00.0 fatal pcie", "gpu/0000:02:00.0 failed "));
}

TEST(DeepTestWords, what_was_fatal_then_is_fatal_whatever_the_list_says_now) {
  const auto all = seen(record(DeepTestOutcome::fatal, "nvlink.1"));
  ASSERT_TRUE(all);
  EXPECT_THAT(gpus_said(*all), ElementsAre("gpu/0000:01:00.0 fatal nvlink"));
}

TEST(DeepTestWords, without_a_test_nothing_is_healthy) {
  const auto off = seen({}, false);
  ASSERT_TRUE(off);
  EXPECT_EQ(off->front().value, Value("off"));
  EXPECT_THAT(*off, SizeIs(1 + kGpus.size()));
  EXPECT_EQ(seen({}, true, false).error().code, Errc::unsupported);
  EXPECT_EQ(seen({}).error().code, Errc::unavailable);
  DeepTestRecord tried;
  tried.tried = kBegan;
  tried.why = "dcgmi ended with 255";
  EXPECT_THAT(seen(tried).error().what, HasSubstr("dcgmi ended with 255"));
  // What stands there counts, also where tests are off now.
  EXPECT_TRUE(seen(record(DeepTestOutcome::fatal, "memory.1"), false));
}

TEST(DeepTestWords, gpus_that_passed_are_recorded_by_their_uuid) {
  DeepTestResult result;
  result.outcome = DeepTestOutcome::failed;
  result.began = kBegan;
  result.summary.tests = {{"targeted_power", host::DcgmStatus::fail, {1}, ""},
                          {"pcie", host::DcgmStatus::pass, {0, 1, 2}, ""}};
  result.summary.gpus = {{0, "S0"}, {1, "S1"}, {2, ""}};
  const auto records = pass_records_of(result, "test-1", kGpus, "boot");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].gpu_uuid, "GPU-0");
  EXPECT_EQ(records[1].gpu_uuid, "GPU-2");
  EXPECT_EQ(records[0].operation, "test-1");
  EXPECT_EQ(records[0].time, kBegan);
  std::vector<PassRecord> kept{{"GPU-0", "deep_test", {}, "", "test-0"}, {"GPU-0", "other", {}, "", "x"}};
  add_pass_records(kept, records);
  ASSERT_THAT(kept, SizeIs(3));
  EXPECT_EQ(kept[0].test, "other");
  EXPECT_EQ(kept[1].operation, "test-1");
}

TEST(DeepTestWords, evict_waits_for_a_test_when_all_else_is_over) {
  const DeepTestRecord none;
  EXPECT_FALSE(waits_for_deep_test({}, Verdict::pass, none));
  const incidents::WrittenVerdict open{Verdict::evict, {{"a", std::nullopt, false}}};
  EXPECT_FALSE(waits_for_deep_test(open, Verdict::pass, none));
  const incidents::WrittenVerdict closed{Verdict::evict, {{"a", kBegan, false}}};
  EXPECT_TRUE(waits_for_deep_test(closed, Verdict::warn, none));
  EXPECT_FALSE(waits_for_deep_test(closed, Verdict::evict, none));
  // A test of before says nothing; one since has said that it is not so.
  EXPECT_TRUE(waits_for_deep_test(closed, Verdict::pass, record(DeepTestOutcome::passed)));
  DeepTestRecord since = record(DeepTestOutcome::failed);
  since.began += 1h;
  EXPECT_FALSE(waits_for_deep_test(closed, Verdict::warn, since));
}

TEST(DeepTestWords, the_label_is_that_of_ibm_autopilot) {
  EXPECT_FALSE(words_of(DeepTestRecord{}));
  const DeepTestWords passed{"dcgm.level.3", "PASS_2027-01-15_08.21.00UTC", ""};
  EXPECT_EQ(words_of(record(DeepTestOutcome::passed)), passed);
  const DeepTestWords failed{"dcgm.level.3", "ERR_2027-01-15_08.21.00UTC", "memory.1"};
  EXPECT_EQ(words_of(record(DeepTestOutcome::fatal, "memory.1")), failed);
}

}  // namespace
}  // namespace autopilot::diagnostics
