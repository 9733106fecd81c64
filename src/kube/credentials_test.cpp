// SPDX-License-Identifier: Apache-2.0

#include "kube/credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "tests/support/kube/test_files.hpp"

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

using std::chrono::minutes;
using std::chrono::seconds;

const std::string kOther = "-----BEGIN CERTIFICATE-----\nMIIz\n-----END CERTIFICATE-----\n";
const std::string kOtherKey = "-----BEGIN EC PRIVATE KEY-----\nMIIy\n-----END EC PRIVATE KEY-----\n";

class CredentialsTest : public ::testing::Test {
 protected:
  void pass(Duration time) {
    now_.wall += time;
    now_.mono += time;
  }

  Instant now_{*parse_time("2026-11-21T12:00:00Z"), MonoTime{minutes{5}}};
  TestFiles files_;
};

TEST_F(CredentialsTest, a_token_that_stands_in_the_configuration_needs_nobody) {
  Access access;
  access.token = "fixed";
  Credentials credentials(access, files_.reader(), {});
  EXPECT_FALSE(credentials.needs_refresh(now_));
  EXPECT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(credentials.token(), "fixed");
  credentials.reject("fixed");
  pass(minutes{10});
  EXPECT_FALSE(credentials.needs_refresh(now_));
}

class TokenFile : public CredentialsTest {
 protected:
  TokenFile() {
    files_.texts["/token"] = "one\n";
    access_.token = "zero";
    access_.token_file = "/token";
  }

  Access access_;
};

TEST_F(TokenFile, is_read_again_each_minute_and_not_more_often) {
  Credentials credentials(access_, files_.reader(), {});
  EXPECT_EQ(credentials.token(), "zero");
  EXPECT_TRUE(credentials.needs_refresh(now_));
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(credentials.token(), "one");
  files_.texts["/token"] = "two";
  pass(Credentials::kFilesEvery - seconds{1});
  EXPECT_FALSE(credentials.needs_refresh(now_));
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(files_.reads, 1);
  pass(seconds{1});
  EXPECT_TRUE(credentials.needs_refresh(now_));
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(credentials.token(), "two");
}

TEST_F(TokenFile, keeps_its_last_token_while_it_cannot_be_read) {
  Credentials credentials(access_, files_.reader(), {});
  ASSERT_TRUE(credentials.refresh(now_));
  pass(Credentials::kFilesEvery);
  files_.texts["/token"] = "";
  auto refreshed = credentials.refresh(now_);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().code, Errc::malformed);
  EXPECT_THAT(refreshed.error().what, HasSubstr("/token: the token is empty"));
  EXPECT_EQ(credentials.token(), "one");
  files_.texts.erase("/token");
  pass(Credentials::kPause);
  refreshed = credentials.refresh(now_);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().code, Errc::not_found);
  EXPECT_EQ(credentials.token(), "one");
  files_.texts["/token"] = "two";
  pass(Credentials::kPause);
  EXPECT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(credentials.token(), "two");
}

TEST_F(TokenFile, is_read_soon_when_the_server_rejects_its_token) {
  Credentials credentials(access_, files_.reader(), {});
  ASSERT_TRUE(credentials.refresh(now_));
  files_.texts["/token"] = "two";
  credentials.reject("one");
  EXPECT_FALSE(credentials.needs_refresh(now_));
  pass(Credentials::kPause);
  EXPECT_TRUE(credentials.needs_refresh(now_));
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(credentials.token(), "two");
  // An answer to a request of before.
  credentials.reject("one");
  pass(Credentials::kPause);
  EXPECT_FALSE(credentials.needs_refresh(now_));
}

TEST_F(CredentialsTest, an_identity_is_given_once_and_again_when_a_file_changes) {
  Access access;
  access.server_name = "kubernetes";
  access.authorities = access.certificate = kTestCertificate;
  access.key = kTestKey;
  access.authorities_file = "/ca";
  access.certificate_file = "/crt";
  access.key_file = "/key";
  files_.texts = {{"/ca", kTestCertificate}, {"/crt", kTestCertificate}, {"/key", kTestKey}};
  Credentials credentials(access, files_.reader(), {});
  auto identity = credentials.take_changed_identity();
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->authorities, kTestCertificate);
  EXPECT_EQ(identity->key, kTestKey);
  EXPECT_EQ(identity->server_name, "kubernetes");
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_FALSE(credentials.take_changed_identity());

  files_.texts = {{"/ca", kOther}, {"/crt", kOther}, {"/key", kOtherKey}};
  pass(Credentials::kFilesEvery);
  ASSERT_TRUE(credentials.refresh(now_));
  identity = credentials.take_changed_identity();
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->authorities, kOther);
  EXPECT_EQ(identity->certificate, kOther);
  EXPECT_EQ(identity->key, kOtherKey);
  EXPECT_FALSE(credentials.take_changed_identity());
}

TEST_F(CredentialsTest, files_that_are_half_written_change_nothing_and_are_all_told) {
  Access access;
  access.certificate = kTestCertificate;
  access.key = kTestKey;
  access.certificate_file = "/crt";
  access.key_file = "/key";
  files_.texts = {{"/crt", "-----BEGIN CERT"}, {"/key", ""}};
  Credentials credentials(access, files_.reader(), {});
  ASSERT_TRUE(credentials.take_changed_identity());
  const auto refreshed = credentials.refresh(now_);
  ASSERT_FALSE(refreshed);
  EXPECT_THAT(refreshed.error().what, HasSubstr("/crt: expected certificates"));
  EXPECT_THAT(refreshed.error().what, HasSubstr("; /key: expected a private key"));
  EXPECT_FALSE(credentials.take_changed_identity());
}

class Plugin : public CredentialsTest {
 protected:
  Plugin() { access_.exec = ExecPlugin{"login", {}, {}, "client.authentication.k8s.io/v1", false}; }

  RunPlugin plugin() {
    return [this](const ExecPlugin& asked, const std::string& exec_info) -> Result<std::string> {
      ++runs_;
      EXPECT_EQ(asked.command, "login");
      EXPECT_THAT(exec_info, HasSubstr("ExecCredential"));
      if (during_) during_();
      return answer_;
    };
  }
  void answer(const std::string& status) {
    answer_ =
        R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" + status + "}";
  }

  Access access_;
  Result<std::string> answer_{""};
  std::function<void()> during_;
  int runs_ = 0;
};

TEST_F(Plugin, is_asked_again_before_its_token_ends) {
  Credentials credentials(access_, files_.reader(), plugin());
  answer(R"({"token":"one","expirationTimestamp":"2026-11-21T13:00:00Z"})");
  EXPECT_EQ(credentials.token(), "");
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(credentials.token(), "one");
  pass(minutes{60} - Credentials::kMargin - seconds{1});
  EXPECT_FALSE(credentials.needs_refresh(now_));
  pass(seconds{1});
  EXPECT_TRUE(credentials.needs_refresh(now_));
  answer(R"({"token":"two","expirationTimestamp":"2026-11-21T14:00:00Z"})");
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(credentials.token(), "two");
  EXPECT_EQ(runs_, 2);
}

TEST_F(Plugin, a_token_of_a_short_life_is_used_for_most_of_it) {
  Credentials credentials(access_, files_.reader(), plugin());
  answer(R"({"token":"one","expirationTimestamp":"2026-11-21T12:00:40Z"})");
  ASSERT_TRUE(credentials.refresh(now_));
  pass(seconds{29});
  EXPECT_FALSE(credentials.needs_refresh(now_));
  pass(seconds{1});
  EXPECT_TRUE(credentials.needs_refresh(now_));
}

TEST_F(Plugin, a_token_that_ended_before_it_came_does_not_run_it_all_the_time) {
  Credentials credentials(access_, files_.reader(), plugin());
  answer(R"({"token":"one","expirationTimestamp":"1990-01-01T00:00:00Z"})");
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_FALSE(credentials.needs_refresh(now_));
  pass(Credentials::kPause);
  EXPECT_TRUE(credentials.needs_refresh(now_));
}

TEST_F(Plugin, a_token_without_an_end_is_kept_until_the_server_rejects_it) {
  Credentials credentials(access_, files_.reader(), plugin());
  answer(R"({"token":"one"})");
  ASSERT_TRUE(credentials.refresh(now_));
  pass(std::chrono::hours{1000});
  EXPECT_FALSE(credentials.needs_refresh(now_));
  credentials.reject("another");
  EXPECT_FALSE(credentials.needs_refresh(now_));
  credentials.reject("one");
  EXPECT_TRUE(credentials.needs_refresh(now_));
  // The same again: not before a pause, however often the server says no.
  ASSERT_TRUE(credentials.refresh(now_));
  credentials.reject("one");
  EXPECT_FALSE(credentials.needs_refresh(now_));
  pass(Credentials::kPause);
  EXPECT_TRUE(credentials.needs_refresh(now_));
}

TEST_F(Plugin, one_that_fails_keeps_the_old_token_and_is_run_less_and_less) {
  Credentials credentials(access_, files_.reader(), plugin());
  answer(R"({"token":"one"})");
  ASSERT_TRUE(credentials.refresh(now_));
  credentials.reject("one");
  answer_ = fail(Errc::unavailable, "no network");
  std::vector<Duration> pauses;
  pass(Credentials::kPause);
  for (int i = 0; i < 6; ++i) {
    const auto refreshed = credentials.refresh(now_);
    ASSERT_FALSE(refreshed);
    EXPECT_EQ(refreshed.error().code, Errc::unavailable);
    EXPECT_THAT(refreshed.error().what, HasSubstr("exec plugin login: no network"));
    EXPECT_EQ(credentials.token(), "one");
    Duration pause{};
    for (; !credentials.needs_refresh(now_); pause += seconds{1})
      pass(seconds{1});
    pauses.push_back(pause);
  }
  EXPECT_THAT(pauses, ::testing::ElementsAre(seconds{5}, seconds{10}, seconds{20}, seconds{40}, seconds{60},
                                             seconds{60}));
}

TEST_F(Plugin, an_answer_that_is_none_is_told_without_its_content) {
  Credentials credentials(access_, files_.reader(), plugin());
  answer_ = "secret";
  const auto refreshed = credentials.refresh(now_);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().code, Errc::malformed);
  EXPECT_THAT(refreshed.error().what, HasSubstr("exec plugin login: ExecCredential: "));
  EXPECT_THAT(refreshed.error().what, Not(HasSubstr("secret")));
  EXPECT_EQ(credentials.token(), "");
}

TEST_F(Plugin, its_certificate_is_shown_in_place_of_that_of_the_configuration) {
  access_.certificate = kTestCertificate;
  access_.key = kTestKey;
  Credentials credentials(access_, files_.reader(), plugin());
  answer(R"({"clientCertificateData":"-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----",)"
         R"("clientKeyData":"-----BEGIN PRIVATE KEY-----\nB\n-----END PRIVATE KEY-----"})");
  ASSERT_EQ(credentials.take_changed_identity()->certificate, kTestCertificate);
  ASSERT_TRUE(credentials.refresh(now_));
  const auto identity = credentials.take_changed_identity();
  ASSERT_TRUE(identity);
  EXPECT_THAT(identity->certificate, HasSubstr("\nA\n"));
  EXPECT_THAT(identity->key, HasSubstr("\nB\n"));
  EXPECT_EQ(credentials.token(), "");
  // A server that does not take the certificate says so to a request without token.
  credentials.reject("");
  pass(Credentials::kPause);
  EXPECT_TRUE(credentials.needs_refresh(now_));
}

TEST_F(Plugin, nobody_waits_while_it_runs_and_it_runs_once) {
  Credentials credentials(access_, files_.reader(), plugin());
  answer(R"({"token":"one"})");
  ASSERT_TRUE(credentials.refresh(now_));
  credentials.reject("one");
  pass(Credentials::kPause);
  answer(R"({"token":"two"})");
  during_ = [&] {
    EXPECT_EQ(credentials.token(), "one");
    EXPECT_FALSE(credentials.needs_refresh(now_));
    EXPECT_TRUE(credentials.refresh(now_));
  };
  ASSERT_TRUE(credentials.refresh(now_));
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(credentials.token(), "two");
}

TEST_F(Plugin, where_no_program_may_run_it_is_an_error_and_the_rest_goes_on) {
  files_.texts["/token"] = "one";
  access_.token_file = "/token";
  Credentials credentials(access_, files_.reader(), {});
  const auto refreshed = credentials.refresh(now_);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().code, Errc::unsupported);
  EXPECT_EQ(credentials.token(), "one");
}

TEST_F(Plugin, what_fails_beside_it_is_told_with_it) {
  access_.token_file = "/gone";
  Credentials credentials(access_, files_.reader(), plugin());
  const auto refreshed = credentials.refresh(now_);
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().code, Errc::not_found);
  EXPECT_THAT(refreshed.error().what, HasSubstr("/gone"));
  EXPECT_THAT(refreshed.error().what, HasSubstr("; exec plugin login: "));
}

}  // namespace

}  // namespace autopilot::kube
