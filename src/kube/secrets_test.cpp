// SPDX-License-Identifier: Apache-2.0
#include "kube/secrets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BearerToken, loses_the_end_of_line_of_its_file) {
  EXPECT_EQ(parse_bearer_token("eyJhbGciOiJSUzI1NiJ9.e30.c2ln\n").value(), "eyJhbGciOiJSUzI1NiJ9.e30.c2ln");
}

TEST(BearerToken, never_becomes_a_second_header) {
  for (const std::string text :
       {"secret\r\nX-Remote-User: admin", "secret secret", "secret\x7f", "secret\xc3\xa4"}) {
    const auto token = parse_bearer_token(text);
    ASSERT_FALSE(token);
    EXPECT_EQ(token.error().code, Errc::malformed);
    EXPECT_THAT(token.error().what, Not(HasSubstr("secret")));
  }
  EXPECT_FALSE(parse_bearer_token(std::string("a\0b", 3)));
}

TEST(BearerToken, an_empty_file_is_none) {
  EXPECT_EQ(parse_bearer_token(" \n").error().code, Errc::malformed);
}

TEST(Pem, a_certificate_is_no_key_and_a_key_no_certificate) {
  const std::string certificate = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n";
  const std::string key = "-----BEGIN EC PRIVATE KEY-----\nMII\n-----END EC PRIVATE KEY-----\n";
  EXPECT_TRUE(check_certificates(certificate));
  EXPECT_TRUE(check_key(key));
  EXPECT_FALSE(check_certificates(key));
  EXPECT_FALSE(check_key(certificate));
  EXPECT_FALSE(check_certificates(""));
  // One file may hold both: that of the kubelet does.
  EXPECT_TRUE(check_certificates(certificate + key));
  EXPECT_TRUE(check_key(certificate + key));
}

TEST(Pem, a_key_with_a_password_is_refused_before_anybody_is_asked_for_it) {
  for (const char* text :
       {"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII\n-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMII\n-----END RSA PRIVATE KEY-----\n"}) {
    const auto key = check_key(text);
    ASSERT_FALSE(key);
    EXPECT_THAT(key.error().what, HasSubstr("password"));
  }
}

}  // namespace
}  // namespace autopilot::kube
