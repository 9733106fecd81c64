// SPDX-License-Identifier: Apache-2.0
#include "net/crowd.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace autopilot::net {
namespace {

class CrowdTest : public ::testing::Test {
 protected:
  ~CrowdTest() override {
    for (const auto& guest : guests_)
      crowd_.leave(*guest);
  }
  Guest* enter(const std::string& peer) {
    guests_.push_back(std::make_unique<Guest>(nullptr, peer));
    crowd_.enter(*guests_.back());
    return guests_.back().get();
  }
  Guest* follow(const std::string& peer) {
    Guest* guest = enter(peer);
    crowd_.end_wait(*guest);
    crowd_.begin_stream(*guest);
    return guest;
  }
  Guest* hold(const std::string& peer, std::size_t bytes) {
    Guest* guest = enter(peer);
    crowd_.hold(*guest, bytes);
    return guest;
  }

  Crowd crowd_;
  std::vector<std::unique_ptr<Guest>> guests_;
};

Peer at(const std::string& address) {
  Peer peer;
  peer.address = address;
  return peer;
}

TEST(PeerKey, is_the_same_for_all_that_one_program_can_call_itself) {
  EXPECT_EQ(peer_key(at("127.0.0.1:4000")), peer_key(at("127.9.8.7:5000")));
  EXPECT_EQ(peer_key(at("127.0.0.1:4000")), peer_key(at("[::1]:5000")));
  EXPECT_EQ(peer_key(at("127.0.0.1:4000")), peer_key(at("[::ffff:127.0.0.2]:5000")));
  EXPECT_EQ(peer_key(at("10.0.0.1:4000")), peer_key(at("[::ffff:10.0.0.1]:5000")));
  EXPECT_EQ(peer_key(at("[2001:db8:0:1::5]:4000")), peer_key(at("[2001:db8:0:1:ffff::9]:5000")));
}

TEST(PeerKey, differs_for_others) {
  EXPECT_NE(peer_key(at("10.0.0.1:4000")), peer_key(at("10.0.0.2:4000")));
  EXPECT_NE(peer_key(at("[2001:db8:0:1::5]:4000")), peer_key(at("[2001:db8:0:2::5]:4000")));
  Peer root;
  root.is_local_socket = true;
  Peer other = root;
  other.uid = 1000;
  EXPECT_NE(peer_key(root), peer_key(other));
}

TEST_F(CrowdTest, everybody_gets_in_while_there_is_room) {
  enter("a");
  enter("a");
  const Room room = crowd_.room_for_connection("a", 3);
  EXPECT_TRUE(room.is_there);
  EXPECT_EQ(room.instead_of, nullptr);
}

TEST_F(CrowdTest, the_oldest_wait_of_the_heaviest_peer_ends_first) {
  Guest* other = enter("b");
  Guest* oldest = enter("a");
  enter("a");
  enter("a");
  EXPECT_EQ(crowd_.room_for_connection("c", 4).instead_of, oldest);
  EXPECT_EQ(crowd_.room_for_connection("b", 4).instead_of, oldest);
  crowd_.begin_wait(*oldest);  // it was answered, and waits anew
  EXPECT_NE(crowd_.room_for_connection("c", 4).instead_of, oldest);
  EXPECT_NE(crowd_.room_for_connection("c", 4).instead_of, other);
}

TEST_F(CrowdTest, the_heaviest_peer_only_replaces_its_own) {
  Guest* own = enter("a");
  enter("a");
  Guest* other = enter("b");
  EXPECT_EQ(crowd_.room_for_connection("a", 3).instead_of, own);
  EXPECT_NE(crowd_.room_for_connection("a", 3).instead_of, other);
}

TEST_F(CrowdTest, a_connection_that_is_being_answered_stays) {
  crowd_.end_wait(*enter("a"));
  crowd_.end_wait(*enter("a"));
  EXPECT_FALSE(crowd_.room_for_connection("b", 2).is_there);
}

TEST_F(CrowdTest, streams_give_way_to_a_peer_with_two_fewer) {
  Guest* oldest = follow("a");
  follow("a");
  const Room room = crowd_.room_for_stream(*enter("b"), 2);
  EXPECT_TRUE(room.is_there);
  EXPECT_EQ(room.instead_of, oldest);
}

TEST_F(CrowdTest, streams_of_one_peer_do_not_push_each_other_out) {
  follow("a");
  follow("a");
  EXPECT_FALSE(crowd_.room_for_stream(*enter("a"), 2).is_there);
  EXPECT_FALSE(crowd_.room_for_stream(*enter("b"), 0).is_there);
}

TEST_F(CrowdTest, bytes_of_the_heaviest_peer_are_taken_first) {
  hold("a", 40);
  Guest* largest = hold("a", 60);
  Guest* small = hold("b", 10);
  EXPECT_TRUE(crowd_.room_for_bytes(*small, 20, 120).is_there);
  EXPECT_EQ(crowd_.room_for_bytes(*small, 20, 120).instead_of, nullptr);
  EXPECT_EQ(crowd_.room_for_bytes(*small, 50, 120).instead_of, largest);
}

TEST_F(CrowdTest, who_holds_most_gets_no_more) {
  Guest* largest = hold("a", 60);
  hold("b", 40);
  EXPECT_FALSE(crowd_.room_for_bytes(*largest, 80, 100).is_there);
}

TEST_F(CrowdTest, within_a_peer_the_larger_gives_way_to_the_smaller) {
  Guest* large = hold("a", 90);
  EXPECT_EQ(crowd_.room_for_bytes(*enter("a"), 20, 100).instead_of, large);
  EXPECT_FALSE(crowd_.room_for_bytes(*enter("a"), 95, 100).is_there);
}

TEST_F(CrowdTest, who_leaves_gives_back_all_that_was_held) {
  Guest* guest = hold("a", 60);
  crowd_.begin_stream(*guest);
  crowd_.leave(*guest);
  crowd_.leave(*guest);
  crowd_.hold(*guest, 10);
  EXPECT_EQ(crowd_.held_bytes(), 0U);
  EXPECT_TRUE(crowd_.room_for_connection("b", 1).is_there);
  EXPECT_EQ(crowd_.room_for_stream(*enter("b"), 1).instead_of, nullptr);
}

}  // namespace
}  // namespace autopilot::net
