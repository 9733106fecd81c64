// SPDX-License-Identifier: Apache-2.0
#include "config/alert_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "config/controller_config.hpp"

namespace autopilot::config::alert_settings_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string problems_of(const std::string& text) {
  const auto read = parse_controller(text, "controller.yaml", {});
  return read ? "" : read.error().what;
}

TEST(AlertSettings, an_agent_and_a_controller_read_the_same_receivers) {
  const std::string text =
      "alerts:\n"
      "  - {name: am, url: 'http://alertmanager.monitoring:9093', min_severity: ticket}\n"
      "  - {name: hook, url: 'https://hooks.example.com/a?b=c', format: json, secret_file: /etc/key,\n"
      "     authorities: /etc/ca.crt, min_severity: page}\n"
      "  - {name: chat, url_file: /etc/slack-url, format: slack}\n";
  const auto controller = parse_controller(text, "controller.yaml", {});
  ASSERT_TRUE(controller) << controller.error().what;
  const auto agent = parse(text, "config.yaml", Config{});
  ASSERT_TRUE(agent) << agent.error().what;
  EXPECT_EQ(agent->alerts, controller->alerts);
  ASSERT_EQ(controller->alerts.size(), 3);
  EXPECT_EQ(controller->alerts[0],
            (AlertReceiver{
                .name = "am", .url = "http://alertmanager.monitoring:9093", .least = AlertLevel::ticket}));
  EXPECT_EQ(controller->alerts[1].secret_file, "/etc/key");
  EXPECT_EQ(controller->alerts[1].authorities, "/etc/ca.crt");
  EXPECT_EQ(controller->alerts[1].format, AlertFormat::json);
  EXPECT_EQ(controller->alerts[2].url_file, "/etc/slack-url");
  EXPECT_EQ(controller->alerts[2].least, AlertLevel::info);
}

TEST(AlertSettings, a_problem_names_the_receiver_and_the_line) {
  EXPECT_THAT(problems_of("alerts:\n  - {name: a, url: ftp://x}\n"),
              HasSubstr("controller.yaml:2: `alerts.a.url`: expected an URL that begins with http://"));
  EXPECT_THAT(problems_of("alerts:\n  - {name: a}\n"),
              HasSubstr("`alerts.a`: expected `url` or `url_file`, one of both"));
  EXPECT_THAT(problems_of("alerts:\n  - {name: a, url: 'http://x', url_file: /x}\n"),
              HasSubstr("one of both"));
  EXPECT_THAT(problems_of("alerts:\n  - {name: a, url: 'http://x', secret_file: /k}\n"),
              HasSubstr("only the format json is signed"));
  EXPECT_THAT(problems_of("alerts:\n  - {name: a, url: 'http://x', secret_file: k, format: json}\n"),
              HasSubstr("`alerts.a.secret_file`: expected an absolute path"));
  EXPECT_THAT(problems_of("alerts:\n  - {name: a, url: 'http://x'}\n  - {name: a, url: 'http://y'}\n"),
              HasSubstr("controller.yaml:3: `alerts.a`: another receiver has the same name"));
  EXPECT_THAT(problems_of("alerts:\n  - {name: a, url: 'http://x', format: smtp}\n"), HasSubstr("smtp"));
  EXPECT_THAT(problems_of("alerts:\n  - {name: a, url: 'http://x', min_severity: low}\n"), HasSubstr("low"));
  EXPECT_THAT(problems_of("alerts:\n  - word\n"), HasSubstr("expected a list of receivers"));
  EXPECT_THAT(problems_of("alerts:\n  - {url: 'http://x'}\n"), HasSubstr("name"));
}

TEST(AlertSettings, an_address_that_is_not_valid_is_not_repeated) {
  EXPECT_THAT(problems_of("alerts:\n  - {name: a, url: 'hooks.example.com/T0/token'}\n"),
              AllOf(HasSubstr("alerts.a.url"), Not(HasSubstr("token"))));
}

TEST(AlertSettings, more_receivers_than_the_limit_are_refused) {
  std::string text = "alerts:\n";
  for (std::size_t i = 0; i <= kMaxAlertReceivers; ++i)
    text += "  - {name: r" + std::to_string(i) + ", url: 'http://x'}\n";
  EXPECT_THAT(problems_of(text), HasSubstr("at most 16 receivers"));
}

}  // namespace
}  // namespace autopilot::config::alert_settings_test
