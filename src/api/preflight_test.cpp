// SPDX-License-Identifier: Apache-2.0
#include "api/preflight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/api/test_samples.hpp"

namespace autopilot::api {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string preflight_problem_of(const std::string& json) {
  const auto request = parse_preflight_request(json);
  return request ? "" : request.error().what;
}

TEST(Preflight, a_request_says_what_is_to_be_tested_and_how_long_it_may_take) {
  const auto request =
      parse_preflight_request(R"({"tests": ["gpu.pcie_bandwidth", "x-1"], "deadlineSeconds": 1.5})");
  ASSERT_TRUE(request) << request.error().what;
  EXPECT_THAT(request->tests, ElementsAre("gpu.pcie_bandwidth", "x-1"));
  EXPECT_EQ(request->deadline, 1500ms);
  const auto least = parse_preflight_request("{}");
  ASSERT_TRUE(least) << least.error().what;
  EXPECT_THAT(least->tests, IsEmpty());
  EXPECT_FALSE(least->deadline);
  EXPECT_EQ(parse_preflight_request(to_json(*request))->tests, request->tests);
}

TEST(Preflight, a_request_beyond_the_limits_is_refused_with_the_place) {
  EXPECT_THAT(preflight_problem_of(R"({"tests": ["A b"]})"), HasSubstr("not 'A b'"));
  EXPECT_THAT(preflight_problem_of(R"({"tests": ["a", "b", "a"]})"), HasSubstr("duplicate id a"));
  EXPECT_THAT(preflight_problem_of(R"({"tests": [""]})"), HasSubstr("expected ids"));
  EXPECT_THAT(preflight_problem_of(R"({"tests": [")" + std::string(65, 'a') + "\"]}"),
              HasSubstr("expected ids"));
  EXPECT_THAT(preflight_problem_of(R"({"tests": "a"})"), HasSubstr("tests"));
  EXPECT_THAT(preflight_problem_of(R"({"test": ["a"]})"), HasSubstr("test"));
  EXPECT_THAT(preflight_problem_of(R"({"deadlineSeconds": 0})"), HasSubstr("expected 1 to 1800"));
  EXPECT_THAT(preflight_problem_of(R"({"deadlineSeconds": 1801})"), HasSubstr("expected 1 to 1800"));
  EXPECT_THAT(preflight_problem_of(R"({"deadlineSeconds": -1e300})"), HasSubstr("deadlineSeconds"));
  EXPECT_THAT(preflight_problem_of(""), HasSubstr("JSON"));
  PreflightRequest many;
  for (int i = 0; i < 17; ++i)
    many.tests.push_back("t" + std::to_string(i));
  EXPECT_THAT(preflight_problem_of(to_json(many)), HasSubstr("at most 16"));
}

TEST(Preflight, what_the_agent_says_is_read_as_it_was_written) {
  const PreflightResult said = testing::sample_preflight_result();
  const auto result = parse_preflight_result(to_json(said));
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->outcome, said.outcome);
  EXPECT_EQ(result->may_start, said.may_start);
  EXPECT_EQ(result->node, said.node);
  EXPECT_EQ(result->fresh, said.fresh);
  ASSERT_EQ(result->tests.size(), said.tests.size());
  EXPECT_EQ(result->tests[0].state, PreflightState::fresh);
  EXPECT_EQ(result->tests[0].age, said.tests[0].age);
  EXPECT_EQ(result->gpus, said.gpus);
  EXPECT_EQ(result->report, said.report);
  EXPECT_EQ(result->message, said.message);
  EXPECT_EQ(result->choice, said.choice);
  ASSERT_EQ(result->left_out.size(), 1U);
  EXPECT_EQ(result->left_out[0].id, "gpu.sdc");
  EXPECT_EQ(result->left_out[0].why, said.left_out[0].why);
  EXPECT_EQ(result->is_durable, said.is_durable);
  std::string before = to_json(said);
  const std::string durable = R"("durable":false)";
  ASSERT_NE(before.find(durable), std::string::npos) << before;
  before.replace(before.rfind(','), std::string::npos, "}");
  const auto from_an_older_agent = parse_preflight_result(before);
  ASSERT_TRUE(from_an_older_agent) << before;
  EXPECT_TRUE(from_an_older_agent->is_durable);
  const auto progress =
      parse_preflight_progress(to_json(PreflightProgress{"gpu-7", "waits", said.tests, 90s}));
  ASSERT_TRUE(progress) << progress.error().what;
  EXPECT_EQ(progress->message, "waits");
  EXPECT_EQ(progress->wait, 90s);
  EXPECT_EQ(progress->tests.size(), said.tests.size());
}

}  // namespace
}  // namespace autopilot::api
