// SPDX-License-Identifier: Apache-2.0
#include "net/router.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::net {
namespace {

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
