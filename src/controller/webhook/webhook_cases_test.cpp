// SPDX-License-Identifier: Apache-2.0
// Every directory tests/webhook/{mutate,observe}/<case> has a pod (pod.yaml) and the expected result
// (expect.yaml): the outcome, the warnings, and the whole pod if it is changed. GOLDEN_UPDATE=1 writes the
// current result, for review.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "api/v1.hpp"
#include "controller/webhook/observation_review.hpp"
#include "controller/webhook/preflight_review.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/controller/test_reviews.hpp"

namespace autopilot::controller {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

using testing::json_of_yaml;
using testing::review_of_pod;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> cases_of(const std::string& webhook) {
  std::vector<std::string> cases;
  for (const auto& entry : fs::directory_iterator(paths::source("tests/webhook/" + webhook)))
    cases.push_back(webhook + "/" + entry.path().filename().string());
  std::ranges::sort(cases);
  return cases;
}

HandlerAnswer answer_to(const std::string& webhook, const json::value& pod) {
  const std::string text = review_of_pod(pod);
  return webhook.starts_with("observe") ? observe(text, {}) : review(text, testing::test_settings());
}

class WebhookCase : public ::testing::TestWithParam<std::string> {};

TEST_P(WebhookCase, the_pod_gets_what_it_should) {
  const fs::path folder = fs::path(paths::source("tests/webhook")) / GetParam();
  const json::value pod = json_of_yaml(text_of(folder / "pod.yaml"), (folder / "pod.yaml").string());
  const HandlerAnswer answer = answer_to(GetParam(), pod);
  const testing::ReadAnswer read = testing::read_answer(answer);
  EXPECT_TRUE(read.is_allowed);
  EXPECT_EQ(read.uid, testing::kUid);
  json::object now{{"outcome", word_of(kReviewOutcomes, answer.outcome)}};
  if (!read.warnings.empty()) now["warnings"] = json::array(read.warnings.begin(), read.warnings.end());
  const json::value after = testing::patched(pod, answer);
  EXPECT_EQ(after != pod, answer.outcome == ReviewOutcome::patched);
  if (after != pod) now["pod"] = after;

  const fs::path file = folder / "expect.yaml";
  const char* update = std::getenv("GOLDEN_UPDATE");
  if (update != nullptr && std::string(update) == "1")
    std::ofstream(file) << api::json_to_yaml(json::serialize(now)).value();
  EXPECT_EQ(json_of_yaml(text_of(file), file.string()), now)
      << api::json_to_yaml(json::serialize(now)).value();

  // A second review, as API servers send after another program has changed the pod, changes nothing.
  EXPECT_TRUE(testing::read_answer(answer_to(GetParam(), after)).patch.empty());
}

TEST(WebhookExamples, the_pod_of_the_examples_is_tested_before_its_own_container_begins) {
  const fs::path file = paths::source("deploy/examples/preflight-pod.yaml");
  const json::value pod = json_of_yaml(text_of(file), file.string());
  const json::value after = testing::patched(pod, answer_to("mutate", pod));
  const json::array& containers = after.at("spec").at("initContainers").as_array();
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(containers[0].at("name"), "autopilot-preflight");
  EXPECT_EQ(containers[0].at("resources").at("limits"), (json::value{{"nvidia.com/gpu", "1"}}));
  EXPECT_EQ(containers[1], pod.at("spec").at("initContainers").at(0));
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '/', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Mutate, WebhookCase, ::testing::ValuesIn(cases_of("mutate")), name_of);
INSTANTIATE_TEST_SUITE_P(Observe, WebhookCase, ::testing::ValuesIn(cases_of("observe")), name_of);

}  // namespace
}  // namespace autopilot::controller
