// SPDX-License-Identifier: Apache-2.0
#include "agent/snapshot_pages.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace autopilot::agent {
namespace {

class SnapshotPagesTest : public ::testing::Test {
 protected:
  net::HttpResponse ask(const std::string& known = "", const std::string& name = "node") {
    net::HttpRequest request;
    if (!known.empty()) request.headers["if-none-match"] = known;
    return pages_.answer(request, snapshot_, name, [this](const NodeSnapshot& snapshot) {
      ++rendered_;
      return snapshot.node;
    });
  }
  void take_snapshot(const std::string& node) {
    auto snapshot = std::make_shared<NodeSnapshot>();
    snapshot->node = node;
    snapshot_ = std::move(snapshot);
  }
  static std::string tag_of(const net::HttpResponse& response) {
    for (const auto& [name, value] : response.headers)
      if (name == "ETag") return value;
    return "";
  }

  SnapshotPages pages_;
  std::shared_ptr<const NodeSnapshot> snapshot_;
  int rendered_ = 0;
};

TEST_F(SnapshotPagesTest, all_who_ask_between_two_snapshots_share_one_text) {
  take_snapshot("node-1");
  const auto first = ask();
  const auto second = ask();
  EXPECT_EQ(*first.shared_body, "node-1");
  EXPECT_EQ(first.shared_body, second.shared_body);
  EXPECT_EQ(rendered_, 1);
  ask("", "checks");
  EXPECT_EQ(rendered_, 2);
}

TEST_F(SnapshotPagesTest, a_new_snapshot_is_shown_at_once) {
  take_snapshot("node-1");
  const std::string tag = tag_of(ask());
  take_snapshot("node-2");
  const auto answer = ask(tag);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(*answer.shared_body, "node-2");
  EXPECT_NE(tag_of(answer), tag);
}

TEST_F(SnapshotPagesTest, who_has_it_gets_no_body) {
  take_snapshot("node-1");
  const std::string tag = tag_of(ask());
  take_snapshot("node-1");
  const auto answer = ask("\"other\", W/" + tag);
  EXPECT_EQ(answer.status, 304);
  EXPECT_EQ(answer.shared_body, nullptr);
  EXPECT_EQ(tag_of(answer), tag);
}

TEST(NamesTag, reads_lists) {
  EXPECT_TRUE(names_tag("\"a\"", "\"a\""));
  EXPECT_TRUE(names_tag(" \"b\" ,W/\"a\"", "\"a\""));
  EXPECT_TRUE(names_tag("*", "\"a\""));
  EXPECT_FALSE(names_tag("", "\"a\""));
  EXPECT_FALSE(names_tag("a", "\"a\""));
  EXPECT_FALSE(names_tag("\"ab\"", "\"a\""));
}

}  // namespace
}  // namespace autopilot::agent
