// SPDX-License-Identifier: Apache-2.0
#include "net/host_policy.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::net {
namespace {

bool allows(const HostPolicy& policy, const std::string& host) {
  return policy.check(host, nullptr).has_value();
}

TEST(HostPolicy, a_loopback_listener_is_asked_as_localhost) {
  const HostPolicy policy("127.0.0.1", {});
  for (const char* host : {"localhost", "localhost:3333", "LocalHost:3333", "localhost.:80", "127.0.0.1:3333",
                           "127.0.0.2", "[::1]", "[::1]:3333", ""})
    EXPECT_TRUE(allows(policy, host)) << host;
  for (const char* host :
       {"evil.example", "evil.example:3333", "localhost.evil.example", "10.0.0.5", "[::1", "[::1]x",
        "localhost:port", ":3333", "localhost:3333:1", "127.0.0.1.evil.example", "2130706433"})
    EXPECT_FALSE(allows(policy, host)) << host;
}

TEST(HostPolicy, a_bound_address_may_be_typed) {
  const HostPolicy one("10.0.0.5", {});
  EXPECT_TRUE(allows(one, "10.0.0.5:3333"));
  EXPECT_FALSE(allows(one, "10.0.0.6:3333"));
  const HostPolicy every("::", {});
  EXPECT_TRUE(allows(every, "10.0.0.6:3333"));
  EXPECT_TRUE(allows(every, "[fd00::1]:3333"));
  EXPECT_FALSE(allows(every, "evil.example"));
}

TEST(HostPolicy, further_names_are_configured) {
  const HostPolicy policy("10.0.0.5", {"Node-1.Example"});
  EXPECT_TRUE(allows(policy, "node-1.example:3333"));
  EXPECT_FALSE(allows(policy, "node-2.example:3333"));
}

TEST(HostPolicy, an_origin_must_be_the_same) {
  const HostPolicy policy("127.0.0.1", {});
  const std::string same = "http://localhost:3333";
  const std::string other_port = "http://localhost:8080";
  const std::string other = "http://evil.example";
  const std::string none = "null";
  EXPECT_TRUE(policy.check("localhost:3333", &same));
  EXPECT_FALSE(policy.check("localhost:3333", &other_port));
  EXPECT_FALSE(policy.check("localhost:3333", &other));
  EXPECT_FALSE(policy.check("localhost:3333", &none));
  EXPECT_FALSE(policy.check("", &same));
}

}  // namespace
}  // namespace autopilot::net
