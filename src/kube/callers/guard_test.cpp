// SPDX-License-Identifier: Apache-2.0
#include "kube/callers/guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "tests/support/net/test_server.hpp"

namespace autopilot::kube {
namespace {

using net::HttpRequest;
using net::Responder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class GuardTest : public ::testing::Test {
 protected:
  // A cluster that knows the tokens of alice, who may, and of bob, who may not.
  void start(bool has_cluster) {
    CallerRights rights{.name_space = "autopilot", .node = "node-1", .ask = {}};
    if (has_cluster)
      rights.ask = [this](const Credential& credential, const kube::AccessQuestion& question,
                          const CallerReviews::OnDecision& on_decision) {
        asked_ = kube::to_string(question);
        const std::string& token = credential.token;
        if (token == "of-alice") return on_decision({true, "alice", {}});
        if (token == "of-bob") return on_decision({true, "bob", fail(Errc::denied, "bob may not")});
        if (token == "later") return on_decision({false, "", fail(Errc::unavailable, "nobody answers")});
        on_decision({false, "", fail(Errc::denied, "the token is not accepted")});
      };
    server_.server().route(
        "POST", "/do/{id}",
        guarded(
            rights,
            [](const HttpRequest& request) {
              return VirtualResource{"checks", request.parameters.at("id")};
            },
            [](const HttpRequest& request, Responder responder) {
              responder.respond({200, "text/plain", request.body + " by " + caller_name(request.peer), {}});
            }));
    server_.start();
  }
  [[nodiscard]] std::string answer(const std::string& headers) const {
    return server_.ask("POST /do/gpu.xid HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
                       "Content-Length: 4\r\n\r\ndone");
  }

  std::string asked_;
  net::testing::TestServer server_;
};

TEST_F(GuardTest, whom_the_cluster_lets_may) {
  start(true);
  EXPECT_THAT(answer("Authorization: Bearer of-alice\r\n"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("done by alice")));
  EXPECT_EQ(asked_, "create checks/gpu.xid.autopilot.ibm.com node-1 in namespace autopilot");
  EXPECT_THAT(answer("authorization: bearer of-alice\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(GuardTest, others_are_told_what_is_missing) {
  start(true);
  EXPECT_THAT(answer(""), AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer"),
                                HasSubstr("kubectl create token ACCOUNT --audience autopilot.ibm.com")));
  for (const char* none : {"Authorization: Basic of-alice\r\n", "Authorization: Bearer\r\n",
                           "Authorization: Bearer \r\n", "Authorization: of-alice\r\n"})
    EXPECT_THAT(answer(none), StartsWith("HTTP/1.1 401")) << none;
  EXPECT_THAT(answer("Authorization: Bearer of-nobody\r\n"),
              AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("the token is not accepted")));
  EXPECT_THAT(answer("Authorization: Bearer of-bob\r\n"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("bob may not")));
  EXPECT_THAT(answer("Authorization: Bearer later\r\n"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("nobody answers")));
}

TEST(Authorize, a_token_that_came_in_the_clear_from_elsewhere_opens_nothing) {
  CallerRights rights;
  rights.ask = [](const Credential&, const kube::AccessQuestion&,
                  const CallerReviews::OnDecision& on_decision) {
    on_decision({true, "alice", {}});
  };
  HttpRequest request;
  request.headers["authorization"] = "Bearer of-alice";
  const auto is_refused = [&] {
    bool refused = false;
    authorize(rights, request, {},
              [&](const Caller&, const std::optional<Refusal>& why) { refused = why.has_value(); });
    return refused;
  };
  request.peer.address = "10.0.0.7:40000";
  EXPECT_TRUE(is_refused());
  request.peer.is_encrypted = true;
  EXPECT_FALSE(is_refused());
  request.peer.is_encrypted = false;
  request.peer.address = "127.0.0.1:40000";
  EXPECT_FALSE(is_refused());
}

TEST_F(GuardTest, without_a_cluster_a_token_opens_nothing) {
  start(false);
  EXPECT_THAT(answer("Authorization: Bearer of-alice\r\n"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("this is done over the Unix socket of the agent")));
}

TEST(CallerAtSocket, acts_as_root_or_the_agents_user_alone) {
  net::HttpRequest request;
  request.peer.is_local_socket = true;
  const auto is_let_in = [&request] {
    bool allowed = false;
    authorize(CallerRights{}, request, kube::AccessQuestion{},
              [&](const Caller&, const std::optional<Refusal>& refusal) { allowed = !refusal; });
    return allowed;
  };
  EXPECT_FALSE(is_let_in());
  request.peer.is_owner = true;
  EXPECT_TRUE(is_let_in());
}

TEST(CallerPlace, is_this_machine_or_not) {
  const auto is_here = [](const std::string& address) {
    net::Peer peer;
    peer.address = address;
    return is_of_this_machine(peer);
  };
  EXPECT_TRUE(is_here("127.0.0.1:4000"));
  EXPECT_TRUE(is_here("127.1.2.3:4000"));
  EXPECT_TRUE(is_here("[::1]:4000"));
  EXPECT_TRUE(is_here("[::ffff:127.0.0.1]:4000"));
  for (const char* elsewhere :
       {"", "10.0.0.1:4000", "[::2]:4000", "[::ffff:10.0.0.1]:4000", "0.0.0.0:1", "1270.0.0.1:1"})
    EXPECT_FALSE(is_here(elsewhere)) << elsewhere;
  net::Peer socket;
  socket.is_local_socket = true;
  EXPECT_TRUE(is_of_this_machine(socket));
}

}  // namespace
}  // namespace autopilot::kube
