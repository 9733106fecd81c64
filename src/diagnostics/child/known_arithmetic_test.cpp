// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/known_arithmetic.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace autopilot::diagnostics {
namespace {

using namespace std::chrono_literals;

struct Outcome {
  Observations observations;
  std::vector<ChildProgress> told;
};

// On a thread of its own: the test binds it to CPUs.
Outcome run(const SelfTest& test) {
  Outcome outcome;
  std::thread([&] {
    auto observations =
        test_cpus(test, [&outcome](const ChildProgress& progress) { outcome.told.push_back(progress); });
    ASSERT_TRUE(observations.has_value()) << observations.error().what;
    outcome.observations = *std::move(observations);
  }).join();
  return outcome;
}

std::optional<Value> value_of(const Outcome& outcome, const std::string& name) {
  for (const Observation& one : outcome.observations)
    if (one.name == name) return one.value;
  return std::nullopt;
}

std::int64_t count_of(const Outcome& outcome, const std::string& name) {
  const auto value = value_of(outcome, name);
  return value && std::holds_alternative<std::int64_t>(*value) ? std::get<std::int64_t>(*value) : -1;
}

TEST(SelfTest, every_cpu_of_this_machine_computes_what_the_compiler_did) {
  const Outcome outcome = run({.duration = 20ms});
  EXPECT_GE(count_of(outcome, "self_test.cpus"), 1);
  EXPECT_GE(count_of(outcome, "self_test.blocks"), count_of(outcome, "self_test.cpus"));
  EXPECT_EQ(count_of(outcome, "self_test.mismatches"), 0);
  EXPECT_EQ(value_of(outcome, "self_test.wrong_cpus"), std::nullopt);
  ASSERT_FALSE(outcome.told.empty());
  EXPECT_EQ(outcome.told.back().progress, 1);
}

TEST(SelfTest, another_answer_is_counted_and_its_cpu_named) {
  const Outcome outcome = run({.duration = 1ms, .expected = self_test_answer() + 1});
  EXPECT_GE(count_of(outcome, "self_test.cpus"), 1);
  EXPECT_EQ(count_of(outcome, "self_test.mismatches"), count_of(outcome, "self_test.blocks"));
  EXPECT_NE(value_of(outcome, "self_test.wrong_cpus"), std::nullopt);
}

TEST(SelfTest, refuses_arguments_it_does_not_know) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--seconds"}, {"--seconds", "x"}, {"--seconds", "0"}, {"--seconds", "1e9"}, {"-n", "1"}};
  for (const auto& arguments : wrong)
    EXPECT_EQ(run_self_test(arguments), 64);
}

}  // namespace
}  // namespace autopilot::diagnostics
