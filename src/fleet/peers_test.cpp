// SPDX-License-Identifier: Apache-2.0
#include "fleet/peers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::fleet {
namespace {

using ::testing::ElementsAre;

const Peer kSelf{"b", "127.0.0.1", 3333};

TEST(Peers, every_node_has_one_in_order_of_names) {
  EXPECT_THAT(
      peers_of({{"10.0.0.3", true, "c", "p3"}, {"10.0.0.2", true, "b", "p2"}, {"10.0.0.1", false, "a", "p1"}},
               kSelf),
      ElementsAre(Peer{"a", "10.0.0.1", 3333}, Peer{"b", "10.0.0.2", 3333}, Peer{"c", "10.0.0.3", 3333}));
}

TEST(Peers, the_ready_one_of_a_node_is_asked) {
  for (const bool is_first : {true, false})
    EXPECT_THAT(peers_of({{"10.0.0.1", is_first, "b", "p"}, {"10.0.0.2", !is_first, "b", "q"}}, kSelf),
                ElementsAre(Peer{"b", is_first ? "10.0.0.1" : "10.0.0.2", 3333}));
}

TEST(Peers, this_one_is_there_before_anybody_knows_it) {
  EXPECT_THAT(peers_of({}, kSelf), ElementsAre(kSelf));
  EXPECT_THAT(peers_of({{"10.0.0.9", true, "", "no-node"}}, kSelf), ElementsAre(kSelf));
}

// An agent of before TLS was turned on stands in a slice of its own, without the port.
TEST(Peers, an_agent_without_the_port_of_tls_is_known_to_lack_it) {
  const Peer self{"b", "127.0.0.1", 3334, true};
  const kube::Endpoint old{"10.0.0.1", true, "a", "p1", {"healthcheck"}};
  const kube::Endpoint fresh{"10.0.0.2", true, "b", "p2", {"healthcheck", "tls"}};
  EXPECT_THAT(peers_of({old, fresh}, self),
              ElementsAre(Peer{"a", "10.0.0.1", 3334, true, true}, Peer{"b", "10.0.0.2", 3334, true}));
  // Who asks in the clear asks everybody, and nobody lacks what the Service does not know.
  EXPECT_THAT(peers_of({old, fresh}, kSelf),
              ElementsAre(Peer{"a", "10.0.0.1", 3333}, Peer{"b", "10.0.0.2", 3333}));
  EXPECT_THAT(peers_of({old}, self), ElementsAre(Peer{"a", "10.0.0.1", 3334, true}, self));
}

TEST(Peers, those_of_the_configuration_have_node_address_and_port) {
  const auto peers = parse_peers({"node-b=10.0.0.2:3333", "node-c=[fd00::3]:4444"});
  ASSERT_TRUE(peers) << peers.error().what;
  EXPECT_THAT(*peers, ElementsAre(Peer{"node-b", "10.0.0.2", 3333}, Peer{"node-c", "fd00::3", 4444}));
}

TEST(Peers, what_is_no_peer_is_refused_with_its_text) {
  for (const std::string text : {"node-b", "node-b=", "node-b=10.0.0.2", "node-b=:3333", "node-b=10.0.0.2:0",
                                 "node-b=host:3333", "=10.0.0.2"}) {
    const auto refused = parse_peers({text});
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().what.find("'" + text + "'"), std::string::npos);
  }
  EXPECT_FALSE(parse_peers({"a=10.0.0.1:1", "a=10.0.0.2:1"}));
}

TEST(Peers, this_one_speaks_for_its_own_node_and_all_are_asked_as_it_is) {
  const Peer self{"b", "127.0.0.1", 3334, true};
  EXPECT_THAT(with_self({{"c", "10.0.0.3", 3334}, {"b", "10.0.0.2", 3334}, {"a", "10.0.0.1", 3334}}, self),
              ElementsAre(Peer{"a", "10.0.0.1", 3334, true}, self, Peer{"c", "10.0.0.3", 3334, true}));
}

TEST(Peers, who_calls_is_an_agent_no_agent_or_nobody_knows) {
  const std::vector<Peer> peers{{"a", "10.0.0.1", 1}, {"b", "10.0.0.2", 1}};
  EXPECT_TRUE(check_agent(peers, {"x", "b"}));
  EXPECT_EQ(check_agent(peers, {"x"}).error().code, Errc::denied);
  const auto unknown = check_agent(fail(Errc::timed_out, "the API server does not answer"), {"b"});
  EXPECT_EQ(unknown.error().code, Errc::unavailable);
  EXPECT_EQ(unknown.error().what, "which nodes have an agent is not known: the API server does not answer");
}

}  // namespace
}  // namespace autopilot::fleet
