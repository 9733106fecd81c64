// SPDX-License-Identifier: Apache-2.0
#include "preflight/test_verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::preflight {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WallTime kNoon{std::chrono::hours{12}};

Subject gpu_of(const std::string& key, const std::string& uuid = "") {
  return {SubjectKind::gpu, key, {}, uuid, {}};
}

Observation about(const Subject& subject, const std::string& name, std::optional<Value> value) {
  Observation one;
  one.name = "pcie_bandwidth." + name;
  one.subject = subject;
  if (!value) one.missing = "denied";
  one.value = std::move(value);
  one.source = "gpu.pcie_bandwidth";
  one.time = {kNoon, MonoTime{1h}};
  return one;
}

Operation measured(Observations observations, std::vector<Subject> reservation = {}) {
  Operation operation;
  operation.id = "op-7";
  operation.kind = "gpu.pcie_bandwidth";
  operation.state = OperationState::succeeded;
  operation.started = kNoon - 1min;
  operation.finished = kNoon;
  operation.reservation = std::move(reservation);
  observations.insert(observations.begin(), about(host_subject(), "outcome", std::string("measured")));
  operation.observations = std::move(observations);
  return operation;
}

JudgedTest judge(const Operation& operation) {
  return judge_test(*checks::find_check("gpu.pcie_bandwidth"), operation, catalog::builtin(), {});
}

std::vector<Health> healths(const JudgedTest& test) {
  std::vector<Health> words;
  for (const TestedGpu& tested : test.gpus)
    words.push_back(tested.health);
  return words;
}

TEST(TestVerdict, tells_slow_gpus_from_sound_ones) {
  const auto test = judge(
      measured({about(gpu_of("a"), "host_to_device", 55.0), about(gpu_of("b"), "host_to_device", 2.0)}));
  EXPECT_THAT(healths(test), ElementsAre(Health::healthy, Health::degraded));
  ASSERT_EQ(test.gpus[1].findings.size(), 1U);
  EXPECT_EQ(test.gpus[1].findings[0].reason, "pcie_bandwidth_low");
  EXPECT_EQ(test.finished, kNoon);
  const Value* tested_at = find_attribute(test.gpus[1].findings[0].evidence, "testedAt");
  ASSERT_NE(tested_at, nullptr);
  EXPECT_EQ(to_string(*tested_at), "1970-01-01T12:00:00.000Z");
}

TEST(TestVerdict, a_gpu_is_slow_for_its_link) {
  const auto test =
      judge(measured({about(gpu_of("a"), "host_to_device", 24.0), about(gpu_of("a"), "generation", 4.0),
                      about(gpu_of("a"), "lanes", 16.0), about(gpu_of("b"), "host_to_device", 24.0),
                      about(gpu_of("b"), "generation", 5.0), about(gpu_of("b"), "lanes", 16.0)}));
  EXPECT_THAT(healths(test), ElementsAre(Health::healthy, Health::degraded));
}

TEST(TestVerdict, a_gpu_that_was_to_be_tested_and_is_not_told_of_has_not_passed) {
  const auto test = judge(measured({about(gpu_of("a"), "host_to_device", 55.0)}, {gpu_of("a"), gpu_of("b")}));
  EXPECT_THAT(healths(test), ElementsAre(Health::healthy, Health::unknown));
}

TEST(TestVerdict, what_could_not_be_measured_is_unknown_and_what_is_slow_beside_it_is_slow) {
  const auto test = judge(measured(
      {about(gpu_of("a"), "host_to_device", std::nullopt), about(gpu_of("b"), "host_to_device", 2.0)}));
  EXPECT_THAT(healths(test), ElementsAre(Health::unknown, Health::degraded));
}

TEST(TestVerdict, a_test_that_found_nothing_proves_nothing) {
  EXPECT_THAT(healths(judge(measured({}, {gpu_of("a")}))), ElementsAre(Health::unknown));
}

TEST(TestVerdict, a_test_of_the_host_speaks_for_each_gpu) {
  Operation operation;
  operation.kind = "self_test";
  operation.message = "8 CPUs computed 80 blocks, 3 wrong";
  EXPECT_FALSE(judge_host_test(operation));
  Observation& told = operation.observations.emplace_back();
  told.name = "self_test.mismatches";
  told.value = std::int64_t{0};
  EXPECT_EQ(judge_host_test(operation)->find(gpu_of("a"))->health, Health::healthy);
  told.value = std::int64_t{3};
  const auto wrong = judge_host_test(operation);
  EXPECT_EQ(wrong->find(gpu_of("b"))->health, Health::failed);
  EXPECT_THAT(wrong->host->findings[0].message, ::testing::HasSubstr("3 wrong"));
  const std::vector<Subject> all{gpu_of("a", "GPU-a"), gpu_of("b", "GPU-b"), gpu_of("c")};
  EXPECT_THAT(pass_records_of(*wrong, all, "boot"), IsEmpty());
  told.value = std::int64_t{0};
  const auto records = pass_records_of(*judge_host_test(operation), all, "boot");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].gpu_uuid, "GPU-b");
  EXPECT_EQ(records[1].test, "self_test");
}

TEST(TestVerdict, a_slow_link_is_a_matter_of_both_its_ends) {
  Operation operation;
  operation.kind = "gpu.p2p";
  const auto tell = [&operation](const Subject& subject, const std::string& name, Value value) {
    operation.observations.push_back(about(subject, name, std::move(value)));
    operation.observations.back().name = "p2p." + name;
  };
  tell(host_subject(), "outcome", std::string("measured"));
  const std::vector<std::string> keys{"a", "b", "c", "d"};
  for (const std::string& from : keys) {
    tell(gpu_of(from), "peers", std::int64_t{3});
    tell(gpu_of(from), "direct", std::int64_t{3});
    for (const std::string& to : keys) {
      if (from == to) continue;
      Subject link{SubjectKind::link, from, {}, "", ""};
      link.key.append("|").append(to);
      tell(link, "write", from == "b" && to == "d" ? 9.0 : 380.0);
    }
  }
  const auto test = judge_test(*checks::find_check("gpu.p2p"), operation, catalog::builtin(), Expectation{});
  EXPECT_THAT(healths(test),
              ElementsAre(Health::healthy, Health::degraded, Health::healthy, Health::degraded));
}

TEST(TestVerdict, who_passed_gets_a_record_by_uuid) {
  Operation operation =
      measured({about(gpu_of("a"), "host_to_device", 55.0), about(gpu_of("b"), "host_to_device", 2.0),
                about(gpu_of("c"), "host_to_device", 55.0)});
  const std::vector<Subject> known{gpu_of("a", "GPU-a"), gpu_of("b", "GPU-b"), gpu_of("c")};
  complete_subjects(operation, known);
  const auto records = pass_records_of(judge(operation), known, "boot");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].gpu_uuid, "GPU-a");
  EXPECT_EQ(records[0].test, "gpu.pcie_bandwidth");
  EXPECT_EQ(records[0].time, kNoon - 1min);
  EXPECT_EQ(records[0].boot_id, "boot");
  EXPECT_EQ(records[0].operation, "op-7");
}

TEST(TestVerdict, a_finding_names_the_gpu_as_people_do) {
  Operation operation = measured({about(gpu_of("a"), "host_to_device", 2.0)});
  Subject known = gpu_of("a", "GPU-a");
  known.index = 3;
  complete_subjects(operation, std::vector{known});
  EXPECT_THAT(judge(operation).gpus[0].findings[0].message, ::testing::StartsWith("GPU 3 (a) receives"));
}

}  // namespace
}  // namespace autopilot::preflight
