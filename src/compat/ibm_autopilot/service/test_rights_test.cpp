// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/test_rights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/peers.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A cluster that knows the token of alice, who may have storage classes tested, and nothing else.
class TestRightsTest : public ::testing::Test {
 protected:
  [[nodiscard]] TestRights find(const std::string& token, bool is_open = false,
                                const std::string& address = "127.0.0.1:4000") {
    net::HttpRequest request;
    request.peer.address = address;
    if (!token.empty()) request.headers["authorization"] = "Bearer " + token;
    return find(request, is_open);
  }
  [[nodiscard]] TestRights find(const net::HttpRequest& request, bool is_open = false) {
    const kube::CallerRights rights{
        .name_space = "autopilot",
        .node = "node-1",
        .ask =
            [this](const kube::Credential& shown, const kube::AccessQuestion& question,
                   const kube::CallerReviews::OnDecision& on_decision) {
              asked_.push_back(kube::to_string(question));
              if (shown.token != "of-alice" && shown.user_text != "alice-in-letters")
                return on_decision({false, "", fail(Errc::denied, "nobody's")});
              if (question.subresource == "storage.pvc")
                return on_decision({true, "alice", {}, "alice-in-letters"});
              on_decision({true, "alice", fail(Errc::denied, "alice may not"), "alice-in-letters"});
            },
        .find_agent =
            [](const std::vector<std::string>& names, const auto& done) {
              done(fleet::check_agent(std::vector{fleet::Peer{"node-2", "10.0.0.2", 1}}, names));
            }};
    TestRights found;
    find_test_rights(rights, is_open, request, {"gpu.diagnosis", "storage.pvc"},
                     [&found](const TestRights& rights_found) { found = rights_found; });
    return found;
  }

  std::vector<std::string> asked_;
};

TEST_F(TestRightsTest, without_a_token_nobody_is_asked_and_nothing_may_be_done) {
  const TestRights found = find("");
  EXPECT_FALSE(found.any());
  EXPECT_THAT(found.refused, IsEmpty());
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(TestRightsTest, each_check_is_a_right_of_its_own) {
  const TestRights found = find("of-alice");
  EXPECT_EQ(found.user, "alice");
  EXPECT_THAT(found.may, ElementsAre("storage.pvc"));
  EXPECT_THAT(found.refused, ElementsAre(Pair("gpu.diagnosis", "alice may not")));
  EXPECT_THAT(asked_,
              ElementsAre("create checks/storage.pvc.autopilot.ibm.com node-1 in namespace autopilot",
                          "create checks/gpu.diagnosis.autopilot.ibm.com node-1 in namespace autopilot"));
}

TEST_F(TestRightsTest, a_token_of_nobody_or_in_the_clear_opens_nothing) {
  EXPECT_FALSE(find("of-nobody").any());
  asked_.clear();
  const TestRights found = find("of-alice", false, "10.0.0.1:4000");
  EXPECT_FALSE(found.any());
  EXPECT_EQ(found.refused.size(), 2U);
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(TestRightsTest, an_agent_is_believed_for_whom_it_asks_and_nobody_else_is) {
  EXPECT_EQ(find("of-alice").user_text, "alice-in-letters");
  net::HttpRequest request;
  request.peer.address = "10.0.0.2:4000";
  request.headers["autopilot-on-behalf-of"] = "alice-in-letters";
  EXPECT_FALSE(find(request).any());
  request.peer.names = {"node-2"};
  EXPECT_FALSE(find(request).any()) << "in the clear";
  request.peer.names = {};
  request.peer.is_encrypted = true;
  EXPECT_FALSE(find(request).any()) << "without a certificate";
  request.peer.names = {"of-no-node"};
  EXPECT_FALSE(find(request).any());
  request.peer.names = {"node-2"};
  asked_.clear();
  const TestRights found = find(request);
  EXPECT_EQ(found.user, "alice");
  EXPECT_THAT(found.may, ElementsAre("storage.pvc"));
  EXPECT_THAT(found.refused, ElementsAre(Pair("gpu.diagnosis", "alice may not")));
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(TestRightsTest, where_it_is_open_anybody_may) {
  const TestRights found = find("", true);
  EXPECT_THAT(found.may, ElementsAre("gpu.diagnosis", "storage.pvc"));
  EXPECT_EQ(found.user, "anybody");
  EXPECT_THAT(asked_, IsEmpty());
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
