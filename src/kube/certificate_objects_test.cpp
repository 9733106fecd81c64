// SPDX-License-Identifier: Apache-2.0

#include "kube/certificate_objects.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::kube {

namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

std::string object(const std::string& status) {
  return R"({"kind":"CertificateRequest","status":)" + status + "}";
}

std::string why_request_is_refused(const std::string& text) {
  const auto issued = parse_certificate_request(text);
  return issued ? "issued" : std::string(to_string(issued.error().code)) + ": " + issued.error().what;
}

TEST(CertificateRequest, asks_for_a_short_lived_certificate_that_signs_nothing) {
  EXPECT_EQ(certificate_requests_path("gpu"), "/apis/cert-manager.io/v1/namespaces/gpu/certificaterequests");
  EXPECT_EQ(
      json::parse(certificate_request_json({"node-1.tls-1", "autopilot", "PEM", std::chrono::hours{24}})),
      json::parse(R"({"apiVersion":"cert-manager.io/v1","kind":"CertificateRequest",
                "metadata":{"name":"node-1.tls-1"},
                "spec":{"request":"UEVN","isCA":false,"duration":"86400s",
                        "usages":["digital signature","server auth","client auth"],
                        "issuerRef":{"group":"cert-manager.io","kind":"Issuer","name":"autopilot"}}})"));
}

TEST(CertificateRequest, is_answered_when_it_is_ready) {
  const auto issued = parse_certificate_request(object(
      R"({"conditions":[{"type":"Approved","status":"True"},{"type":"Ready","status":"True","reason":"Issued"}],
          "certificate":"Y2VydA==","ca":"Y2E="})"));
  ASSERT_TRUE(issued) << issued.error().what;
  EXPECT_EQ(issued->certificate, "cert");
  EXPECT_EQ(issued->authority, "ca");
}

TEST(CertificateRequest, waits_for_who_has_not_decided) {
  for (const char* status :
       {"{}", R"({"conditions":[]})", R"({"conditions":[7]})",
        R"({"conditions":[{"type":"Ready","status":"False","reason":"Pending","message":"soon"}]})"})
    EXPECT_THAT(why_request_is_refused(object(status)), HasSubstr("unavailable")) << status;
}

TEST(CertificateRequest, says_why_there_is_none) {
  EXPECT_EQ(why_request_is_refused(
                object(R"({"conditions":[{"type":"Denied","status":"True","message":"not you"}]})")),
            "denied: cert-manager refused the certificate: not you");
  EXPECT_EQ(why_request_is_refused(
                object(R"({"conditions":[{"type":"InvalidRequest","status":"True","message":"no"}]})")),
            "denied: cert-manager refused the certificate: no");
  EXPECT_EQ(why_request_is_refused(object(
                R"({"conditions":[{"type":"Ready","status":"False","reason":"Failed","message":"key"}]})")),
            "denied: cert-manager refused the certificate: key");
  EXPECT_THAT(why_request_is_refused(
                  object(R"({"conditions":[{"type":"Ready","status":"True"}],"certificate":"Y2VydA=="})")),
              HasSubstr("without its authority"));
  for (const char* text : {"", "[]", "{}", R"({"kind":"Pod"})"})
    EXPECT_THAT(why_request_is_refused(text), HasSubstr("malformed")) << text;
}

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
