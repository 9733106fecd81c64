// SPDX-License-Identifier: Apache-2.0
#include "kube/in_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/test_files.hpp"

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

}  // namespace
}  // namespace autopilot::kube
