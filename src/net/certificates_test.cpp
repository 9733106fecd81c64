// SPDX-License-Identifier: Apache-2.0
#include "net/certificates.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/test_certificates.hpp"

namespace autopilot::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CertificateWish, another_program_reads_one_name_and_a_signature_in_it) {
  if (!testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
  const auto wish = make_certificate_wish("gpu-1.example,DNS:other");
  ASSERT_TRUE(wish);
  const auto read = testing::run_program({"openssl", "req", "-noout", "-text"}, wish->request);
  EXPECT_THAT(read, AllOf(HasSubstr("DNS:gpu-1.example,DNS:other"), HasSubstr("prime256v1"),
                          HasSubstr("ecdsa-with-SHA256")));
  EXPECT_THAT(testing::run_program({"openssl", "pkey", "-pubout"}, wish->key),
              testing::run_program({"openssl", "req", "-noout", "-pubkey"}, wish->request));
}

TEST(CertificateWish, each_has_a_key_of_its_own) {
  EXPECT_NE(make_certificate_wish("a")->key, make_certificate_wish("a")->key);
}

TEST(Validity, is_that_of_the_first_certificate) {
  if (!testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
  const testing::TestCertificates certificates;
  certificates.make_authority("ca");
  certificates.make_node("node-1", "ca");
  const auto validity = validity_of(certificates.text("node-1.crt") + certificates.text("ca.crt"));
  ASSERT_TRUE(validity);
  EXPECT_EQ(validity->until - validity->from, std::chrono::hours{24});
  EXPECT_GT(validity->from, WallTime{std::chrono::hours{24} * 365 * 50});
  for (const char* none : {"", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"})
    EXPECT_FALSE(validity_of(none)) << none;
}

}  // namespace
}  // namespace autopilot::net
