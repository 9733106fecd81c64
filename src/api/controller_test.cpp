// SPDX-License-Identifier: Apache-2.0
#include "api/controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::api {

namespace {

TEST(SigningRequest, is_read_as_it_was_written) {
  EXPECT_EQ(parse_signing_request(to_json(SigningRequest{"-----BEGIN\n"}))->request, "-----BEGIN\n");
}

TEST(SigningRequest, takes_no_other_member) {
  EXPECT_FALSE(parse_signing_request(R"({"request": "a", "node": "b"})"));
  EXPECT_FALSE(parse_signing_request("{}"));
  EXPECT_FALSE(parse_signing_request(""));
  EXPECT_FALSE(parse_signing_request(std::string(100, '[')));
}

TEST(SignedCertificate, is_read_as_it_was_written) {
  const auto issued = parse_signed_certificate(to_json(SignedCertificate{"a\n", "b\n"}));
  ASSERT_TRUE(issued);
  EXPECT_EQ(issued->certificate, "a\n");
  EXPECT_EQ(issued->authority, "b\n");
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string gangs_problem_of(const std::string& json) {
  const auto question = parse_gang_question(json);
  return question ? "" : question.error().what;
}

TEST(Gangs, a_question_is_read_as_it_was_written) {
  const auto question = parse_gang_question(to_json(GangQuestion{"u-1", 8}));
  ASSERT_TRUE(question) << question.error().what;
  EXPECT_EQ(question->pod_uid, "u-1");
  EXPECT_EQ(question->size, 8U);
  EXPECT_TRUE(question->is_proven);
  EXPECT_EQ(parse_gang_question(to_json(GangQuestion{"u-1"}))->size, 0U);
  EXPECT_FALSE(parse_gang_question(to_json(GangQuestion{"u-1", 8, false}))->is_proven);
}

TEST(Gangs, a_question_beyond_the_limits_is_refused) {
  EXPECT_THAT(gangs_problem_of("{}"), HasSubstr("podUid"));
  EXPECT_THAT(gangs_problem_of(R"({"podUid": ""})"), HasSubstr("podUid"));
  EXPECT_THAT(gangs_problem_of(R"({"podUid": ")" + std::string(129, 'a') + "\"}"), HasSubstr("podUid"));
  EXPECT_THAT(gangs_problem_of(R"({"podUid": "u", "size": 100001})"), HasSubstr("at most 100000"));
  EXPECT_THAT(gangs_problem_of(R"({"podUid": "u", "size": -1})"), HasSubstr("size"));
  EXPECT_THAT(gangs_problem_of(R"({"podUid": "u", "node": "gpu-1"})"), HasSubstr("node"));
  EXPECT_THAT(gangs_problem_of(""), HasSubstr("JSON"));
}

TEST(Gangs, an_answer_is_read_as_it_was_written) {
  const auto answer = parse_gang_answer(to_json(GangAnswer{false, "waiting"}));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_FALSE(answer->may_start);
  EXPECT_EQ(answer->message, "waiting");
  EXPECT_TRUE(parse_gang_answer(to_json(GangAnswer{true, {}}))->may_start);
  EXPECT_THAT(parse_gang_answer(to_json(GangAnswer{true, {}, {"n2", "n3"}}))->nodes, ElementsAre("n2", "n3"));
  EXPECT_FALSE(parse_gang_answer("{}"));
}

TEST(Gangs, an_answer_with_too_many_nodes_is_refused) {
  const std::vector<std::string> nodes(GangAnswer::kMostNodes + 1, "n");
  const auto answer = parse_gang_answer(to_json(GangAnswer{true, {}, nodes}));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("nodes: at most 64"));
}

}  // namespace

}  // namespace autopilot::api
