// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/client.hpp"

namespace autopilot::cli {

namespace {

using ::testing::HasSubstr;

const Asked kAsked{"list nodes", "install it"};

kube::ApiError refusal(int status) {
  net::HttpResponse response;
  response.status = status;
  return kube::api_error(response, "GET", "/p");
}

kube::ApiError silence(Errc code) {
  kube::ApiError error;
  error.error = {code, "GET /p: nobody"};
  error.verdict = kube::judge_error(code);
  return error;
}

TEST(ApiProblem, says_what_happened_and_what_helps) {
  EXPECT_EQ(problem_of(refusal(404), kAsked).what, "GET /p: 404; install it");
  EXPECT_EQ(problem_of(refusal(404), {"list nodes", ""}).what, "GET /p: 404");
  EXPECT_THAT(problem_of(refusal(401), kAsked).what, HasSubstr("log in again"));
  EXPECT_THAT(problem_of(refusal(403), kAsked).what, HasSubstr("needs permission to list nodes"));
  EXPECT_THAT(problem_of(refusal(410), kAsked).what, HasSubstr("try again"));
  EXPECT_THAT(problem_of(refusal(429), kAsked).what, HasSubstr("try again"));
  EXPECT_THAT(problem_of(silence(Errc::denied), kAsked).what, HasSubstr("certificate-authority"));
  EXPECT_THAT(problem_of(silence(Errc::timed_out), kAsked).what, HasSubstr("--request-timeout"));
  EXPECT_THAT(problem_of(silence(Errc::unavailable), kAsked).what, HasSubstr("--context"));
  EXPECT_THAT(problem_of(silence(Errc::exhausted), kAsked).what, HasSubstr("32 MiB"));
}

TEST(ApiProblem, is_never_one_of_the_configuration) {
  for (const int status : {400, 418, 422, 302})
    EXPECT_EQ(problem_of(refusal(status), kAsked).code, Errc::unavailable) << status;
}

}  // namespace

}  // namespace autopilot::cli
