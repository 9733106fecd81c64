// SPDX-License-Identifier: Apache-2.0

#include "kube/access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kube/test_files.hpp"

namespace autopilot::kube {

namespace {

using ::testing::HasSubstr;

const std::string kFolder = "/var/run/secrets/kubernetes.io/serviceaccount/";

class InCluster : public ::testing::Test {
 protected:
  TestFiles files_{{{kFolder + "token", "secret\n"},
                    {kFolder + "ca.crt", kTestCertificate},
                    {kFolder + "namespace", "autopilot"}},
                   {}};
};

TEST_F(InCluster, a_pod_finds_its_server_and_its_account) {
  const auto access = in_cluster_access("10.96.0.1", "443", files_.reader());
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(net::to_string(access->server), "https://10.96.0.1");
  EXPECT_EQ(access->token, "secret");
  EXPECT_EQ(access->token_file, kFolder + "token");
  EXPECT_EQ(access->authorities, kTestCertificate);
  EXPECT_EQ(access->authorities_file, kFolder + "ca.crt");
  EXPECT_EQ(access->name_space, "autopilot");
  EXPECT_FALSE(access->trusts_any_server);
}

TEST_F(InCluster, an_ipv6_cluster_is_reached) {
  const auto access = in_cluster_access("fd00:10:96::1", "6443", files_.reader());
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->server.host, "fd00:10:96::1");
  EXPECT_EQ(net::to_string(access->server), "https://[fd00:10:96::1]:6443");
}

TEST_F(InCluster, outside_of_a_cluster_there_is_none) {
  EXPECT_EQ(in_cluster_access("", "", files_.reader()).error().code, Errc::not_found);
  EXPECT_EQ(in_cluster_access("10.96.0.1", "", files_.reader()).error().code, Errc::not_found);
  EXPECT_EQ(files_.reads, 0);
}

TEST_F(InCluster, a_pod_without_a_token_is_told_how_to_get_one) {
  files_.texts.erase(kFolder + "token");
  const auto access = in_cluster_access("10.96.0.1", "443", files_.reader());
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, Errc::denied);
  EXPECT_THAT(access.error().what, HasSubstr("automountServiceAccountToken"));
}

TEST_F(InCluster, nobody_is_trusted_without_authorities) {
  files_.texts[kFolder + "ca.crt"] = "";
  const auto access = in_cluster_access("10.96.0.1", "443", files_.reader());
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().what, HasSubstr(kFolder + "ca.crt: expected certificates"));
  files_.texts.erase(kFolder + "ca.crt");
  EXPECT_FALSE(in_cluster_access("10.96.0.1", "443", files_.reader()));
}

TEST_F(InCluster, a_volume_without_namespace_means_the_default) {
  files_.texts.erase(kFolder + "namespace");
  EXPECT_EQ(in_cluster_access("10.96.0.1", "443", files_.reader())->name_space, "default");
  files_.broken[kFolder + "namespace"] = Errc::denied;
  EXPECT_EQ(in_cluster_access("10.96.0.1", "443", files_.reader()).error().code, Errc::denied);
}

TEST_F(InCluster, variables_that_make_no_address_are_named) {
  for (const auto& [host, port] : std::initializer_list<std::pair<std::string, std::string>>{
           {"10.96.0.1", "https"}, {"10.96.0.1", "0"}, {"a b", "443"}, {"a/b", "443"}, {"user@a", "443"}}) {
    const auto access = in_cluster_access(host, port, files_.reader());
    ASSERT_FALSE(access) << host << ' ' << port;
    EXPECT_EQ(access.error().code, Errc::malformed);
    EXPECT_THAT(access.error().what, HasSubstr("KUBERNETES_SERVICE_HOST"));
  }
}

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
