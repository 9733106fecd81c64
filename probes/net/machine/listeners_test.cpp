// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/listeners.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace autopilot::probes::net {
namespace {

constexpr const char* kHeader =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

std::string line(const std::string& address, int port, const char* state) {
  std::uint32_t number = 0;
  ::inet_pton(AF_INET, address.c_str(), &number);
  std::array<char, 200> text{};
  std::snprintf(
      text.data(), text.size(),
      "   0: %08X:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000  1000        0 7 1\n", number,
      static_cast<unsigned>(port), state);
  return text.data();
}

Address address_of(const char* text) {
  return *parse_address(text);
}

TEST(Listeners, listening_sockets_are_found_at_their_address) {
  const auto listeners = listeners_in(kHeader + line("10.0.0.2", 8080, "0A") + line("0.0.0.0", 22, "0A") +
                                      line("10.0.0.2", 8081, "01"));
  ASSERT_EQ(listeners.size(), 2U);
  EXPECT_TRUE(is_listened_at(listeners, address_of("10.0.0.2"), 8080));
  EXPECT_FALSE(is_listened_at(listeners, address_of("10.0.0.2"), 8081));
  EXPECT_FALSE(is_listened_at(listeners, address_of("10.0.0.3"), 8080));
  EXPECT_FALSE(is_listened_at(listeners, address_of("10.0.0.2"), 22)) << "all addresses are not this one";
  EXPECT_FALSE(is_listened_at(listeners, address_of("::1"), 8080));
}

TEST(Listeners, malformed_lines_are_ignored) {
  for (const char* text :
       {"", "\n\n", "0:", "0: 0100007F:1F90", "0: 0100007F:1F90 0:0", "0: 100007F:1F90 0:0 0A", "0: : : 0A",
        "0: 0100007F:1F9G 0:0 0A", "0: 0100007F-1F90 0:0 0A", "\x01\xff\xfe 0A 0A 0A",
        "0: 00000000000000000000000000000000:1F90 0:0 0A"})
    EXPECT_TRUE(listeners_in(text).empty()) << text;
  EXPECT_TRUE(listeners_in(std::string(1U << 20U, 'A')).empty());
}

TEST(Listeners, the_kernel_lists_a_socket_of_this_test) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&place), size), 0);
  ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&place), &size), 0);
  const int port = ntohs(place.sin_port);
  EXPECT_FALSE(is_listened_at(*read_listeners(), address_of("127.0.0.1"), port));
  ASSERT_EQ(::listen(socket, 1), 0);
  EXPECT_TRUE(is_listened_at(*read_listeners(), address_of("127.0.0.1"), port));
  ::close(socket);
}

TEST(Listeners, without_the_table_the_result_is_unknown) {
  EXPECT_EQ(read_listeners("/nosuch/tcp").error().code, Errc::unavailable);
}

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

TEST(AcceptOnlyFrom, other_clients_are_dropped) {
  const Socket server("127.0.0.1");
  const Socket friendly("127.0.0.2");
  const Socket stranger("127.0.0.3");
  ASSERT_TRUE(server.is_bound() && friendly.is_bound() && stranger.is_bound());
  EXPECT_TRUE(server.hears(stranger));
  ASSERT_TRUE(accept_only_from(server.number(), addresses({"10.0.0.9", "127.0.0.2", "::1"})));
  EXPECT_TRUE(server.hears(friendly));
  EXPECT_FALSE(server.hears(stranger));
}

TEST(AcceptOnlyFrom, a_list_of_another_family_drops_all_clients) {
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

TEST(AcceptOnlyFrom, the_longest_list_is_accepted_and_a_longer_one_is_refused) {
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

std::vector<int> all_of(const PortRange& range, int count) {
  std::vector<int> list;
  Ports ports(range, count);
  while (list.size() < 100) {
    const auto port = ports.next(*parse_address("127.0.0.1"));
    if (!port) {
      EXPECT_EQ(port.error().code, Errc::exhausted);
      return list;
    }
    list.push_back(*port);
  }
  return list;
}

TEST(Ports, one_number_is_the_first_of_as_many_as_there_are_servers) {
  EXPECT_EQ(all_of(*parse_port_range("5201"), 3), (std::vector{5201, 5202, 5203}));
  EXPECT_FALSE(parse_port_range("5201")->has_choice());
}

TEST(Ports, of_a_range_any_may_be_tried) {
  EXPECT_EQ(all_of(*parse_port_range("5201-5204"), 2), (std::vector{5201, 5202, 5203, 5204}));
  EXPECT_TRUE(parse_port_range("5201-5204")->has_choice());
}

TEST(Ports, they_end_where_numbers_of_ports_do) {
  EXPECT_EQ(all_of(*parse_port_range("65534"), 10), (std::vector{65534, 65535}));
}

TEST(Ports, of_zero_the_kernel_chooses_and_not_for_ever) {
  const auto ports = all_of(*parse_port_range("0"), 1);
  ASSERT_GT(ports.size(), 1U);
  EXPECT_LT(ports.size(), 100U);
  for (const int port : ports)
    EXPECT_GT(port, 0);
}

TEST(Ports, an_address_of_another_machine_has_none) {
  Ports ports({.first = 0, .last = {}}, 1);
  EXPECT_FALSE(ports.next(*parse_address("192.0.2.1")));
}

TEST(Ports, invalid_ports_are_refused) {
  for (const char* text :
       {"", "-", "5201-", "-5201", "5300-5201", "65536", "0-10", "5201 ", "5201,5202", "0x10", "-1"})
    EXPECT_FALSE(parse_port_range(text)) << text;
  EXPECT_EQ(parse_ports("5201,5203"), (std::vector{5201, 5203}));
  for (const char* text : {"", "0", "5201,", "5201,5201", "65536", "5201-5202", "a"})
    EXPECT_FALSE(parse_ports(text)) << text;
}

}  // namespace

}  // namespace autopilot::probes::net
