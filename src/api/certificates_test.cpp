// SPDX-License-Identifier: Apache-2.0
#include "api/certificates.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::api {
namespace {

TEST(SigningRequest, is_read_as_it_was_written) {
  EXPECT_EQ(parse_signing_request(to_json(SigningRequest{"-----BEGIN\n"}))->request, "-----BEGIN\n");
}

TEST(SigningRequest, takes_no_other_member) {
  EXPECT_FALSE(parse_signing_request(R"({"request": "a", "node": "b"})"));
  EXPECT_FALSE(parse_signing_request("{}"));
  EXPECT_FALSE(parse_signing_request(""));
  EXPECT_FALSE(parse_signing_request(std::string(100, '[')));
}

TEST(SignedCertificate, is_read_as_it_was_written) {
  const auto issued = parse_signed_certificate(to_json(SignedCertificate{"a\n", "b\n"}));
  ASSERT_TRUE(issued);
  EXPECT_EQ(issued->certificate, "a\n");
  EXPECT_EQ(issued->authority, "b\n");
}

}  // namespace
}  // namespace autopilot::api
