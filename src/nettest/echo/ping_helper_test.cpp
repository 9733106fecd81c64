// SPDX-License-Identifier: Apache-2.0

#include "nettest/echo/ping_helper.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/icmp.h>
#include <map>
#include <netinet/in.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/files/fd.hpp"
#include "nettest/echo/echo_socket.hpp"
#include "nettest/echo/tcp_reach.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::nettest {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// More than are asked at a time: the last hundred are of a part of their own.
EchoPlan a_large_plan() {
  EchoPlan plan;
  for (std::size_t i = 0; i < EchoPlan::kMostAddresses + 100; ++i)
    plan.addresses.push_back("10.1." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250));
  return plan;
}

PingHelper helper_that_dies_of(const std::string& address) {
  return PingHelper({.program = paths::fake("fake_helper"),
                     .arguments = {"ping_that_dies_of", address},
                     .environment = host::own_environment()});
}

auto count_asked(const std::vector<PeerEcho>& echoes) {
  return std::ranges::count_if(echoes, [](const PeerEcho& echo) { return echo.figures.answered > 0; });
}

TEST(PingHelper, asks_more_addresses_than_fit_into_one_question) {
  const EchoPlan plan = a_large_plan();
  const auto echoes = helper_that_dies_of("").ask(plan, host::mono_now() + 60s);
  ASSERT_TRUE(echoes) << echoes.error().what;
  EXPECT_TRUE(std::ranges::equal(*echoes, plan.addresses, {}, &PeerEcho::address));
  EXPECT_EQ(count_asked(*echoes), static_cast<std::ptrdiff_t>(plan.addresses.size()));
}

TEST(PingHelper, what_is_known_stays_where_a_later_part_fails) {
  const EchoPlan plan = a_large_plan();
  const auto echoes = helper_that_dies_of(plan.addresses.back()).ask(plan, host::mono_now() + 60s);
  ASSERT_TRUE(echoes) << echoes.error().what;
  ASSERT_TRUE(std::ranges::equal(*echoes, plan.addresses, {}, &PeerEcho::address));
  EXPECT_EQ(count_asked(*echoes), static_cast<std::ptrdiff_t>(EchoPlan::kMostAddresses));
  EXPECT_EQ(echoes->back().way, EchoWay::none);
  EXPECT_EQ(echoes->back().figures.sent, 0U);
  EXPECT_THAT(echoes->back().problem, HasSubstr("helper"));
}

TEST(PingHelper, and_where_an_earlier_one_does) {
  const EchoPlan plan = a_large_plan();
  const auto echoes = helper_that_dies_of(plan.addresses.front()).ask(plan, host::mono_now() + 60s);
  ASSERT_TRUE(echoes) << echoes.error().what;
  EXPECT_EQ(count_asked(*echoes), 100);
  EXPECT_EQ(echoes->front().way, EchoWay::none);
}

TEST(PingHelper, that_fails_altogether_is_an_error) {
  const auto echoes =
      helper_that_dies_of("10.1.0.7").ask({.addresses = {"10.1.0.7"}}, host::mono_now() + 60s);
  ASSERT_FALSE(echoes);
  EXPECT_THAT(echoes.error().what, HasSubstr("helper"));
}

bool may_ask() {
  return EchoSocket::open(false).has_value();
}

EchoPlan plan_of(std::vector<std::string> addresses) {
  EchoPlan plan;
  plan.addresses = std::move(addresses);
  return plan;
}

TEST(AskPeers, this_machine_answers_all_questions_in_order) {
  if (!may_ask()) GTEST_SKIP() << "needs a socket for ICMP (net.ipv4.ping_group_range or CAP_NET_RAW)";
  const auto echoes = ask_peers(plan_of({"127.0.0.1", "127.0.0.2"}), host::mono_now() + 20s);
  ASSERT_TRUE(echoes) << echoes.error().what;
  ASSERT_EQ(echoes->size(), 2U);
  for (const PeerEcho& echo : *echoes) {
    EXPECT_EQ(echo.way, EchoWay::icmp);
    EXPECT_EQ(echo.figures.answered, echo.figures.sent);
    EXPECT_GE(echo.figures.sent, 5U);
    EXPECT_EQ(echo.figures.duplicates, 0U);
    EXPECT_GT(echo.figures.median, 0ns);
    EXPECT_EQ(echo.path_mtu, 0U);
    EXPECT_EQ(echo.problem, "");
  }
  EXPECT_EQ(echoes->at(1).address, "127.0.0.2");
}

TEST(AskPeers, ipv6_is_asked_as_well) {
  if (!EchoSocket::open(true)) GTEST_SKIP() << "needs a socket for ICMPv6";
  const auto echoes = ask_peers(plan_of({"::1"}), host::mono_now() + 20s);
  ASSERT_TRUE(echoes) << echoes.error().what;
  if (!echoes->at(0).problem.empty()) GTEST_SKIP() << "IPv6 is off: " << echoes->at(0).problem;
  EXPECT_EQ(echoes->at(0).figures.answered, echoes->at(0).figures.sent);
}

TEST(AskPeers, the_round_ends_at_its_deadline) {
  if (!may_ask()) GTEST_SKIP() << "needs a socket for ICMP";
  EchoPlan plan = plan_of({"127.0.0.1"});
  plan.echoes = 100;  // two seconds of questions
  plan.patience = 20ms;
  const auto echoes = ask_peers(plan, host::mono_now() + 200ms);
  ASSERT_TRUE(echoes) << echoes.error().what;
  EXPECT_LT(echoes->at(0).figures.sent, 100U);
}

// Asked in the last moment it would seem silent.
TEST(AskPeers, no_question_is_sent_whose_answer_would_come_too_late) {
  for (const std::uint16_t port : std::vector<std::uint16_t>{0, 9}) {
    EchoPlan plan = plan_of({"192.0.2.1"});
    plan.tcp_port = port;
    if (port == 0 && !may_ask()) continue;
    const auto echoes = ask_peers(plan, host::mono_now() + 500ms);
    ASSERT_TRUE(echoes) << echoes.error().what;
    EXPECT_EQ(echoes->at(0).figures.sent, 0U);
  }
}

TEST(AskPeers, no_more_is_sent_in_a_second_than_the_plan_allows) {
  if (!may_ask()) GTEST_SKIP() << "needs a socket for ICMP";
  EchoPlan plan = plan_of({});
  for (int i = 1; i <= 20; ++i)
    plan.addresses.push_back("127.0.1." + std::to_string(i));
  plan.echoes = 1;
  plan.closer = 0;
  plan.finds_path_mtu = false;
  plan.per_second = 100;
  const MonoTime begin = host::mono_now();
  ASSERT_TRUE(ask_peers(plan, begin + 20s));
  EXPECT_GE(host::mono_now() - begin, 190ms);
}

// Sees the questions of this machine to itself, as they come, with their times.
class Watcher {
 public:
  Watcher() : socket_(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP)) {
    if (!socket_) return;
    icmp_filter requests{};
    requests.data = ~(1U << ICMP_ECHO);
    const int on = 1;
    const int room = 1 << 20;
    (void)::setsockopt(socket_.get(), SOL_RAW, ICMP_FILTER, &requests, sizeof requests);
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  }
  [[nodiscard]] bool may_watch() const { return static_cast<bool>(socket_); }
  // By address: when it was asked.
  [[nodiscard]] std::map<std::uint32_t, std::vector<Duration>> seen() const {
    std::map<std::uint32_t, std::vector<Duration>> times;
    while (true) {
      std::array<char, 128> packet{};
      alignas(cmsghdr) std::array<char, 128> control{};
      iovec part{.iov_base = packet.data(), .iov_len = packet.size()};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      if (::recvmsg(socket_.get(), &message, 0) < 0) return times;
      std::uint32_t to = 0;
      std::memcpy(&to, packet.data() + 16, sizeof to);
      timespec stamp{};
      std::memcpy(&stamp, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof stamp);
      times[to].push_back(std::chrono::seconds{stamp.tv_sec} + std::chrono::nanoseconds{stamp.tv_nsec});
    }
  }

 private:
  host::Fd socket_;
};

// However busy this machine is: what is late is not made up for.
TEST(AskPeers, no_address_is_asked_again_too_soon_and_all_together_not_too_fast) {
  if (!may_ask()) GTEST_SKIP() << "needs a socket for ICMP";
  const Watcher watcher;
  if (!watcher.may_watch()) GTEST_SKIP() << "needs CAP_NET_RAW to see what is asked";
  // The kernel begins to note times a little after it was asked to.
  ASSERT_TRUE(ask_peers(plan_of({"127.0.0.1"}), host::mono_now() + 20s));
  static_cast<void>(watcher.seen());
  for (const int addresses : {3, 60, 120}) {
    EchoPlan plan = plan_of({});
    for (int i = 0; i < addresses; ++i)
      plan.addresses.push_back("127.3." + std::to_string(addresses) + "." + std::to_string(1 + i));
    plan.echoes = 3;
    plan.closer = 0;
    plan.finds_path_mtu = false;
    ASSERT_TRUE(ask_peers(plan, host::mono_now() + 20s));
    std::vector<Duration> all;
    for (const auto& [address, times] : watcher.seen()) {
      if (ntohl(address) >> 16 != 0x7f03) continue;
      for (std::size_t i = 1; i < times.size(); ++i)
        EXPECT_GE(times[i] - times[i - 1], kBetweenEchoes - 1ms) << addresses;
      all.insert(all.end(), times.begin(), times.end());
    }
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), 3U * static_cast<unsigned>(addresses));
    constexpr std::size_t kBeside = 100;  // take a fiftieth of a second, by the rate of the plan
    for (std::size_t i = kBeside; i < all.size(); ++i)
      EXPECT_GE(all[i] - all[i - kBeside], 17ms) << addresses;
  }
}

TEST(AskPeers, an_invalid_address_is_refused) {
  const auto refused = ask_peers(plan_of({"node-b"}), host::mono_now() + 1s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::malformed);
}

// Listens on a port of 127.0.0.1 until it ends.
struct Listener {
  Listener() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&own), size) != 0 ||
        ::listen(socket.get(), 8) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
      return;
    port = ntohs(own.sin_port);
  }
  host::Fd socket;
  std::uint16_t port = 0;
};

TEST(TcpReach, an_accepted_and_a_refused_connection_are_answers) {
  const Listener listener;
  ASSERT_NE(listener.port, 0);
  PeerEcho accepts{.address = "127.0.0.1"};
  PeerEcho refuses{.address = "127.0.0.2"};
  reach_by_tcp({&accepts, &refuses},
               {.port = listener.port, .echoes = 3, .deadline = host::mono_now() + 20s});
  for (const PeerEcho* const echo : {&accepts, &refuses}) {
    EXPECT_EQ(echo->way, EchoWay::tcp);
    EXPECT_EQ(echo->figures.sent, 3U);
    EXPECT_EQ(echo->figures.answered, 3U);
  }
}

// A node of which nothing was asked is not called silent.
TEST(TcpReach, a_resource_missing_on_this_machine_is_not_a_problem_of_the_address) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const host::Fd last(::dup(0));
  ASSERT_TRUE(last);
  rlimit none_left = before;
  none_left.rlim_cur = static_cast<rlim_t>(last.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  PeerEcho echo{.address = "127.0.0.1"};
  reach_by_tcp({&echo}, {.port = 9, .echoes = 2, .deadline = host::mono_now() + 20s});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(echo.figures.sent, 0U);
  EXPECT_EQ(echo.problem, "");
}

TEST(TcpReach, an_address_without_a_path_is_reported_with_its_problem) {
  PeerEcho lost{.address = "255.255.255.255"};
  reach_by_tcp({&lost}, {.port = 9, .echoes = 2, .deadline = host::mono_now() + 20s});
  EXPECT_EQ(lost.figures.answered, 0U);
  EXPECT_NE(lost.problem, "");
}

}  // namespace

}  // namespace autopilot::nettest
