// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/packet_filter.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace autopilot::probes::net {
namespace {

// A datagram over loopback has arrived, or was dropped, when sending returns: nothing has to be waited for.
class Socket {
 public:
  explicit Socket(const std::string& text)
      : address_(*parse_address(text)),
        socket_(::socket(address_.is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (address_.is_ipv6) {
      sockaddr_in6 place{};
      place.sin6_family = AF_INET6;
      std::memcpy(&place.sin6_addr, address_.bytes.data(), sizeof place.sin6_addr);
      bind(place);
    } else {
      sockaddr_in place{};
      place.sin_family = AF_INET;
      std::memcpy(&place.sin_addr, address_.bytes.data(), sizeof place.sin_addr);
      bind(place);
    }
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { ::close(socket_); }

  [[nodiscard]] int number() const { return socket_; }
  [[nodiscard]] bool is_bound() const { return is_bound_; }

  [[nodiscard]] bool hears(const Socket& other) const {
    sockaddr_storage place{};
    socklen_t size = sizeof place;
    char letter = 'a';
    return ::getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size) == 0 &&
           ::sendto(other.socket_, &letter, 1, 0, reinterpret_cast<const sockaddr*>(&place), size) == 1 &&
           ::recv(socket_, &letter, 1, MSG_DONTWAIT) == 1;
  }

 private:
  template <class Place>
  void bind(const Place& place) {
    is_bound_ = ::bind(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  }

  Address address_;
  int socket_;
  bool is_bound_ = false;
};

std::vector<Address> addresses(const std::vector<std::string>& texts) {
  std::vector<Address> list;
  for (const std::string& text : texts)
    list.push_back(*parse_address(text));
  return list;
}

TEST(AcceptOnlyFrom, others_are_not_heard) {
  const Socket server("127.0.0.1");
  const Socket friendly("127.0.0.2");
  const Socket stranger("127.0.0.3");
  ASSERT_TRUE(server.is_bound() && friendly.is_bound() && stranger.is_bound());
  EXPECT_TRUE(server.hears(stranger));
  ASSERT_TRUE(accept_only_from(server.number(), addresses({"10.0.0.9", "127.0.0.2", "::1"})));
  EXPECT_TRUE(server.hears(friendly));
  EXPECT_FALSE(server.hears(stranger));
}

TEST(AcceptOnlyFrom, a_list_of_another_family_lets_nobody_in) {
  const Socket server("127.0.0.1");
  const Socket client("127.0.0.1");
  ASSERT_TRUE(accept_only_from(server.number(), addresses({"::1"})));
  EXPECT_FALSE(server.hears(client));
}

TEST(AcceptOnlyFrom, every_word_of_a_long_address_counts) {
  const Socket server("::1");
  const Socket client("::1");
  if (!server.is_bound()) GTEST_SKIP() << "needs IPv6";
  ASSERT_TRUE(accept_only_from(server.number(), addresses({"::2", "1::1", "0:0:1::1", "::1:0:0:1"})));
  EXPECT_FALSE(server.hears(client));
  ASSERT_TRUE(accept_only_from(server.number(), addresses({"::2", "::1"})));
  EXPECT_TRUE(server.hears(client));
}

TEST(AcceptOnlyFrom, the_longest_list_is_taken_and_a_longer_one_is_not) {
  const Socket server("::1");
  const Socket client("::1");
  if (!server.is_bound()) GTEST_SKIP() << "needs IPv6";
  std::vector<Address> peers;
  for (std::size_t i = 1; i < kMostPeers; ++i)
    peers.push_back(*parse_address("2001:db8::" + std::to_string(i)));
  peers.push_back(*parse_address("::1"));
  ASSERT_TRUE(accept_only_from(server.number(), peers));
  EXPECT_TRUE(server.hears(client));
  peers.push_back(peers[0]);
  EXPECT_EQ(accept_only_from(server.number(), peers).error().code, Errc::exhausted);
}

}  // namespace
}  // namespace autopilot::probes::net
