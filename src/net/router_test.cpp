// SPDX-License-Identifier: Apache-2.0

#include "net/router.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

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

class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    add("GET", "/v1/checks");
    add("GET", "/v1/checks/{id}");
    add("POST", "/v1/checks/{id}");
    add("GET", "/v1/checks/all");
    add("POST", "/v1/incidents/{id}/ack");
  }

  void add(const std::string& method, const std::string& pattern) {
    router_.add(method, pattern, [this, pattern](const HttpRequest&, Responder) { found_ = pattern; }, {});
  }

  std::string find(const std::string& method, const std::vector<std::string>& segments) {
    const auto match = router_.find(method, segments);
    if (match.handler == nullptr) return std::to_string(match.status) + " " + match.allow;
    (*match.handler)({}, Responder(nullptr));
    std::string text = found_;
    for (const auto& [name, value] : match.parameters)
      text.append(" ").append(name).append("=").append(value);
    return text;
  }

 private:
  Router router_;
  std::string found_;
};

TEST_F(RouterTest, finds_by_segments) {
  EXPECT_EQ(find("GET", {"v1", "checks"}), "/v1/checks");
  EXPECT_EQ(find("GET", {"v1", "checks", "gpu.xid"}), "/v1/checks/{id} id=gpu.xid");
  EXPECT_EQ(find("POST", {"v1", "incidents", "a/b", "ack"}), "/v1/incidents/{id}/ack id=a/b");
}

TEST_F(RouterTest, literal_segments_win) {
  EXPECT_EQ(find("GET", {"v1", "checks", "all"}), "/v1/checks/all");
  EXPECT_EQ(find("POST", {"v1", "checks", "all"}), "/v1/checks/{id} id=all");
}

TEST_F(RouterTest, head_finds_get) {
  EXPECT_EQ(find("HEAD", {"v1", "checks"}), "/v1/checks");
}

TEST_F(RouterTest, tells_an_unknown_path_from_a_wrong_method) {
  EXPECT_EQ(find("GET", {"v2"}), "404 ");
  EXPECT_EQ(find("GET", {"v1", "checks", ""}), "404 ");
  EXPECT_EQ(find("DELETE", {"v1", "checks", "gpu.xid"}), "405 GET, HEAD, POST");
  EXPECT_EQ(find("GET", {"v1", "incidents", "1", "ack"}), "405 POST");
}

}  // namespace

}  // namespace autopilot::net
