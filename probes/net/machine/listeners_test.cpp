// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/listeners.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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

TEST(Listeners, those_that_listen_are_found_where_they_do) {
  const auto listeners = listeners_in(kHeader + line("10.0.0.2", 8080, "0A") + line("0.0.0.0", 22, "0A") +
                                      line("10.0.0.2", 8081, "01"));
  ASSERT_EQ(listeners.size(), 2U);
  EXPECT_TRUE(is_listened_at(listeners, address_of("10.0.0.2"), 8080));
  EXPECT_FALSE(is_listened_at(listeners, address_of("10.0.0.2"), 8081));
  EXPECT_FALSE(is_listened_at(listeners, address_of("10.0.0.3"), 8080));
  EXPECT_FALSE(is_listened_at(listeners, address_of("10.0.0.2"), 22)) << "all addresses are not this one";
  EXPECT_FALSE(is_listened_at(listeners, address_of("::1"), 8080));
}

TEST(Listeners, lines_that_cannot_be_read_count_for_nothing) {
  for (const char* text :
       {"", "\n\n", "0:", "0: 0100007F:1F90", "0: 0100007F:1F90 0:0", "0: 100007F:1F90 0:0 0A", "0: : : 0A",
        "0: 0100007F:1F9G 0:0 0A", "0: 0100007F-1F90 0:0 0A", "\x01\xff\xfe 0A 0A 0A",
        "0: 00000000000000000000000000000000:1F90 0:0 0A"})
    EXPECT_TRUE(listeners_in(text).empty()) << text;
  EXPECT_TRUE(listeners_in(std::string(1U << 20U, 'A')).empty());
}

TEST(Listeners, the_kernel_tells_of_a_socket_of_this_test) {
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

TEST(Listeners, without_the_table_nothing_is_known) {
  EXPECT_EQ(read_listeners("/nosuch/tcp").error().code, Errc::unavailable);
}

}  // namespace
}  // namespace autopilot::probes::net
