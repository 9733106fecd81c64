// SPDX-License-Identifier: Apache-2.0
#include "kube/webhook_configuration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using ::testing::SizeIs;

const std::string kConfiguration = R"({"kind":"MutatingWebhookConfiguration",
  "metadata":{"name":"autopilot-preflight","resourceVersion":"9"},
  "webhooks":[
    {"clientConfig":{"service":{"name":"autopilot-controller","namespace":"autopilot"}}},
    7,
    {"clientConfig":{"url":"https://elsewhere.example"}},
    {"clientConfig":{"service":{"name":"autopilot-controller","namespace":"autopilot"},"caBundle":"b25l"}},
    {"clientConfig":{"service":{"name":"autopilot-controller","namespace":"other"}}}]})";

TEST(WebhookConfiguration, only_webhooks_of_our_service_are_changed_and_where_they_differ) {
  const auto configuration = parse_webhook_configuration(kConfiguration);
  ASSERT_TRUE(configuration) << configuration.error().what;
  EXPECT_THAT(configuration->webhooks, SizeIs(5));
  EXPECT_EQ(configuration->webhooks[3].authorities, "one");
  EXPECT_EQ(authorities_patch(*configuration, "autopilot", "autopilot-controller", "one"),
            R"([{"op":"replace","path":"/metadata/resourceVersion","value":"9"},)"
            R"({"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"b25l"}])");
}

TEST(WebhookConfiguration, there_is_nothing_to_change_where_all_are_as_they_should_be) {
  const auto configuration = parse_webhook_configuration(kConfiguration);
  EXPECT_FALSE(authorities_patch(*configuration, "nowhere", "autopilot-controller", "one"));
  EXPECT_FALSE(authorities_patch({}, "autopilot", "autopilot-controller", "one"));
}

TEST(WebhookConfiguration, what_is_none_is_malformed) {
  for (const char* text : {"", "[]", "{}", R"({"kind":"Secret"})"})
    EXPECT_FALSE(parse_webhook_configuration(text)) << text;
}

}  // namespace
}  // namespace autopilot::kube
