// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_credential.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";

std::string answer(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" + status +
         "}\n";
}

TEST(ExecCredential, a_token_with_an_end_is_read) {
  const auto credential = parse_exec_credential(
      answer(R"({"token":"secret","expirationTimestamp":"2026-11-21T03:04:05Z"})"), kV1);
  ASSERT_TRUE(credential) << credential.error().what;
  EXPECT_EQ(credential->token, "secret");
  ASSERT_TRUE(credential->expires);
  EXPECT_EQ(format_time(*credential->expires), "2026-11-21T03:04:05.000Z");
}

TEST(ExecCredential, a_certificate_is_read_and_need_not_end) {
  const auto credential = parse_exec_credential(
      answer(
          R"({"clientCertificateData":"-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----",)"
          R"("clientKeyData":"-----BEGIN PRIVATE KEY-----\nB\n-----END PRIVATE KEY-----","expirationTimestamp":null})"),
      kV1);
  ASSERT_TRUE(credential) << credential.error().what;
  EXPECT_THAT(credential->certificate, HasSubstr("\nA\n"));
  EXPECT_THAT(credential->key, HasSubstr("\nB\n"));
  EXPECT_FALSE(credential->expires);
  EXPECT_EQ(credential->token, "");
}

TEST(ExecCredential, an_answer_in_another_version_says_what_to_write) {
  const auto credential =
      parse_exec_credential(answer(R"({"token":"secret"})"), "client.authentication.k8s.io/v1beta1");
  ASSERT_FALSE(credential);
  EXPECT_THAT(credential.error().what, HasSubstr("'client.authentication.k8s.io/v1'"));
  EXPECT_THAT(credential.error().what, HasSubstr("exec.apiVersion"));
}

TEST(ExecCredential, an_answer_that_is_none_is_told_without_its_content) {
  const std::string pem_end = R"(-----\nsecret"})";
  for (
      const std::string& text :
      {std::string(), std::string("secret"), std::string("[\"secret\"]"),
       std::string(R"({"token":"secret"})"),
       std::string(
           R"({"kind":"Secret","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"secret"}})"),
       std::string(R"({"kind":"ExecCredential","apiVersion":1,"status":{"token":"secret"}})"), answer("null"),
       answer("{}"), answer(R"({"token":["secret"]})"), answer(R"({"token":"secret secret"})"),
       answer(R"({"token":"secret","expirationTimestamp":"secret"})"),
       answer(R"({"clientCertificateData":"-----BEGIN CERTIFICATE)" + pem_end),
       answer(R"({"clientKeyData":"-----BEGIN PRIVATE KEY)" + pem_end),
       answer(R"({"clientCertificateData":"secret","clientKeyData":"secret"})"), answer(std::string(64, '[')),
       answer("\"" + std::string(ExecCredential::kMaxBytes, 's') + "\"")}) {
    const auto credential = parse_exec_credential(text, kV1);
    ASSERT_FALSE(credential) << text.substr(0, 200);
    EXPECT_EQ(credential.error().code, Errc::malformed);
    EXPECT_THAT(credential.error().what, Not(HasSubstr("secret")));
  }
}

TEST(ExecInfo, a_plugin_learns_that_nobody_sits_at_a_terminal) {
  Access access;
  access.exec = ExecPlugin{"aws", {}, {}, std::string(kV1), false};
  EXPECT_EQ(
      exec_info_json(access),
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}})");
}

TEST(ExecInfo, a_plugin_that_wants_the_cluster_is_told) {
  Access access;
  access.server = {true, "fd00::1", 6443, ""};
  access.authorities = "foobar";
  access.server_name = "kubernetes";
  access.exec = ExecPlugin{"aws", {}, {}, std::string(kV1), true};
  EXPECT_THAT(exec_info_json(access),
              HasSubstr(R"("cluster":{"server":"https://[fd00::1]:6443","tls-server-name":"kubernetes",)"
                        R"("certificate-authority-data":"Zm9vYmFy"})"));
}

}  // namespace
}  // namespace autopilot::kube
