// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>

#include "compat/ibm_autopilot/service/fan_out.hpp"
#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "net/node_keys.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

namespace ibm = compat::ibm_autopilot;
using ::testing::HasSubstr;

// The agent "here" asks at one address, where the agent of "there" answers who it takes the asker for.
class FanOutTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!net::testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    certificates_.make_authority("ca");
    certificates_.make_node("here", "ca");
    certificates_.make_node("there", "ca");
    server_.route("GET", "/status", [](const net::HttpRequest& request, net::Responder responder) {
      std::string said = request.peer.names.empty() ? "nobody" : request.peer.names.front();
      const auto user = request.headers.find("autopilot-on-behalf-of");
      if (user != request.headers.end()) said += " for " + user->second;
      responder.respond(net::HttpResponse{.body = said});
    });
    port_ = server_.listen_tls("127.0.0.1:0", keys_of("there").server).value();
  }
  [[nodiscard]] net::ReadyKeys keys_of(const std::string& node) const {
    const auto ready = net::make_ready(
        {certificates_.text(node + ".crt"), certificates_.text(node + ".key"), certificates_.text("ca.crt")});
    EXPECT_TRUE(ready) << ready.error().what;
    return *ready;
  }
  // What is said by each node of that list; all are at the address of "there".
  std::map<std::string, std::string> ask(const std::vector<std::string>& nodes, const TestRights& rights) {
    std::vector<fleet::Peer> peers{{"here", "127.0.0.1", 1, true}};
    ibm::StatusRequest request;
    request.checks = "storage.pvc";
    request.host.clear();
    for (const std::string& node : nodes) {
      peers.push_back({node, "127.0.0.1", port_, true});
      request.host += (request.host.empty() ? "" : ",") + node;
    }
    FanOutContext context{
        loop_,
        clock_,
        "here",
        [](const ibm::StatusRequest&, const TestRights&, ReplyForm, const auto& done) { done("mine"); },
        [&peers](const auto& done) { done(peers); },
        [keys = keys_of("here")] { return keys.client; }};
    FanOut fan_out(std::move(context));
    std::map<std::string, std::string> said;
    bool is_over = false;
    fan_out.ask(request, rights, ReplyForm::text,
                {[&said](const NodeReply& reply) {
                   EXPECT_THAT(reply.url, HasSubstr("https://"));
                   said[reply.peer.node] = reply.body ? *reply.body : "error: " + reply.body.error().what;
                 },
                 [&is_over](const auto&, Duration) { is_over = true; }});
    EXPECT_TRUE(net::testing::run_until(loop_, [&is_over] { return is_over; }));
    return said;
  }

  net::testing::TestCertificates certificates_;
  net::EventLoop loop_;
  const host::SystemClock clock_;
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
};

TEST_F(FanOutTlsTest, agents_know_each_other_by_the_names_of_their_nodes) {
  EXPECT_EQ(ask({"there"}, {})["there"], "here");
}

TEST_F(FanOutTlsTest, an_agent_with_the_name_of_another_node_is_not_believed) {
  auto said = ask({"there", "elsewhere"}, {});
  EXPECT_EQ(said["there"], "here");
  EXPECT_THAT(said["elsewhere"], HasSubstr("error: "));
  EXPECT_THAT(said["elsewhere"], HasSubstr("the server's certificate is not trusted"));
}

TEST_F(FanOutTlsTest, others_are_told_for_whom_they_are_asked) {
  EXPECT_EQ(ask({"there"}, {.user = "alice", .user_text = "alice-in-letters"})["there"],
            "here for alice-in-letters");
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
