// SPDX-License-Identifier: Apache-2.0

#include "net/url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::net {

namespace {

TEST(Address, reads_what_a_person_writes) {
  for (const auto& [text, address, port] :
       {std::tuple{"127.0.0.1:3333", "127.0.0.1", 3333}, std::tuple{"[::1]:3333", "::1", 3333},
        std::tuple{"localhost:1", "127.0.0.1", 1}, std::tuple{":0", "", 0},
        std::tuple{"0.0.0.0:65535", "0.0.0.0", 65535}}) {
    const auto parsed = parse_ip_port(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->address, address);
    EXPECT_EQ(parsed->port, port);
  }
  EXPECT_EQ(to_string(IpPort{"::1", 80}), "[::1]:80");
  EXPECT_EQ(to_string(IpPort{"10.0.0.1", 80}), "10.0.0.1:80");
}

TEST(Address, refuses_the_rest) {
  for (const char* text :
       {"", "3333", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:3333", "[]:80",
        "[127.0.0.1]:80", "[::1]", "name.example:80", "127.0.0.1:80 "})
    EXPECT_FALSE(parse_ip_port(text)) << text;
}

using ::testing::HasSubstr;

TEST(ServerUrl, reads_what_a_kubeconfig_says) {
  const auto url = parse_server_url("https://api.example:6443/k8s/clusters/c-1/");
  ASSERT_TRUE(url) << url.error().what;
  EXPECT_TRUE(url->is_tls);
  EXPECT_EQ(url->host, "api.example");
  EXPECT_EQ(url->port, 6443);
  EXPECT_EQ(url->path, "/k8s/clusters/c-1");
  EXPECT_EQ(to_string(*url), "https://api.example:6443/k8s/clusters/c-1");
}

TEST(ServerUrl, knows_the_ports_of_the_schemes) {
  EXPECT_EQ(parse_server_url("https://10.0.0.1")->port, 443);
  EXPECT_EQ(parse_server_url("http://10.0.0.1/")->port, 80);
  EXPECT_EQ(host_header(*parse_server_url("https://10.0.0.1:443")), "10.0.0.1");
  EXPECT_EQ(host_header(*parse_server_url("http://10.0.0.1:443")), "10.0.0.1:443");
}

TEST(ServerUrl, keeps_brackets_for_the_wire) {
  const auto url = parse_server_url("https://[fd00::1]:6443");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "fd00::1");
  EXPECT_EQ(host_header(*url), "[fd00::1]:6443");
  EXPECT_EQ(to_string(*parse_server_url("https://[fd00::1]")), "https://[fd00::1]");
}

TEST(ServerUrl, says_what_is_wrong) {
  for (const char* text : {"", "10.0.0.1:6443", "ftp://a", "https://", "https://:1", "https://[::1",
                           "https://[::1]x", "https://a:0", "https://a:65536", "https://a:b",
                           "https://a:", "https://a?b=c", "https://a b", "https://a\n"}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, Errc::malformed);
    EXPECT_THAT(url.error().what, HasSubstr(std::string("'") + text + "'"));
  }
}

TEST(ServerUrl, shows_no_password) {
  const auto url = parse_server_url("https://user:secret@host:6443");
  ASSERT_FALSE(url);
  EXPECT_THAT(url.error().what, HasSubstr("'...@host:6443'"));
}

}  // namespace

}  // namespace autopilot::net
