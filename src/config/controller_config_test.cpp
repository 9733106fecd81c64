// SPDX-License-Identifier: Apache-2.0
#include "config/controller_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string controller_problems_of(std::string_view text) {
  const auto config = parse_controller(text, "controller.yaml", {});
  return config ? "" : config.error().what;
}

TEST(ControllerConfig, an_empty_file_changes_nothing) {
  const auto config = parse_controller("", "controller.yaml", {});
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(diff(ControllerConfig{}, *config), IsEmpty());
}

TEST(ControllerConfig, every_problem_is_named_with_its_line) {
  EXPECT_THAT(controller_problems_of(
                  "listen: here\nwebhok: {}\nwebhook:\n  deadline: 2h\n  resources: [gpu]\n  tests: 7\n"),
              AllOf(HasSubstr("controller.yaml:1: `listen`: expected an address"),
                    HasSubstr("controller.yaml:2: "), HasSubstr("webhok"),
                    HasSubstr("controller.yaml:4: `webhook.deadline`: expected 1s to 1h, found `2h`"),
                    HasSubstr("controller.yaml:5: `webhook.resources`"), HasSubstr("controller.yaml:6: ")));
}

TEST(ControllerConfig, what_belongs_together_is_asked_for_together) {
  EXPECT_THAT(controller_problems_of("webhook: {enabled: true, image: a}"), HasSubstr("webhook.agent_url"));
  EXPECT_THAT(controller_problems_of("certificates: {mode: files, key: /k, certificate: /c}"),
              HasSubstr("certificates.authorities"));
  EXPECT_EQ(controller_problems_of("certificates: {mode: files, key: /k, certificate: /c, authorities: /a}"),
            "");
}

TEST(ControllerConfig, no_pod_is_tested_by_what_is_no_test) {
  EXPECT_EQ(controller_problems_of("webhook: {tests: [gpu.pcie_bandwidth, network.ping]}"), "");
  EXPECT_THAT(controller_problems_of("webhook: {tests: [gpu.nonsense]}"),
              AllOf(HasSubstr("expected a list of tests that pods can ask for"), HasSubstr("gpu.nonsense")));
}

TEST(ControllerConfig, an_agent_is_asked_inside_tls_alone) {
  EXPECT_THAT(controller_problems_of("webhook: {agent_url: 'http://agent:3333'}"), HasSubstr("https://"));
}

TEST(ControllerConfig, what_pods_get_changes_while_it_runs_and_addresses_do_not) {
  ControllerConfig next;
  next.listen = ":1";
  next.webhook.tests = {"gpu.diagnosis"};
  next.policy = "/policy.yaml";
  EXPECT_EQ(describe(diff(ControllerConfig{}, next)), "policy, webhook.tests; at the next start: listen");
  const ControllerConfig merged = merge_live({}, next);
  EXPECT_EQ(merged.listen, ":9443");
  EXPECT_THAT(merged.webhook.tests, ElementsAre("gpu.diagnosis"));
  for (const Change& change : diff(merged, next))
    EXPECT_FALSE(change.is_live) << change.key;
}

TEST(ControllerConfig, the_example_of_the_page_is_accepted) {
  const std::string page = controller_settings_page();
  const std::size_t begin = page.find("```yaml\n") + 8;
  const auto config = parse_controller(page.substr(begin, page.find("```\n", begin) - begin), "example", {});
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_TRUE(config->webhook.enabled);
}

TEST(ControllerConfig, every_default_is_a_value_that_is_accepted) {
  for (const ControllerSetting& setting : controller_settings()) {
    Shown shown;
    setting.show({}, setting, shown);
    const std::string value = shown.begin()->second.empty() ? "''" : shown.begin()->second;
    const std::string line = setting.group().empty() ? std::string(setting.key()) + ": " + value
                                                     : std::string(setting.group()) + ": {" +
                                                           std::string(setting.key()) + ": " + value + "}";
    const auto config = parse_controller(line, "default", {});
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_THAT(diff(ControllerConfig{}, *config), IsEmpty()) << line;
  }
}

}  // namespace
}  // namespace autopilot::config
