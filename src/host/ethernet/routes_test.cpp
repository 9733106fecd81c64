// SPDX-License-Identifier: Apache-2.0
#include "host/ethernet/routes.hpp"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

#include "tests/support/host/run_program.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kRoute =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    "eth1\t00000000\t00000000\t0001\t0\t0\t200\t00000000\t0\t0\t0\n"
    "eth2\t00000000\t010200C0\t0203\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n";
constexpr std::string_view kRouteIpv6 =
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "fe800000000000000000000000000001 "
    "00000400 00000001 00000000 00000003     eth0\n"
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 "
    "ffffffff 00000001 00000000 00200200       lo\n"
    "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 "
    "00000100 00000001 00000000 00000001     eth0\n";
constexpr std::string_view kArp =
    "IP address       HW type     Flags       HW address            Mask     Device\n"
    "192.0.2.1        0x1         0x2         00:1c:73:aa:bb:cc     *        eth0\n"
    "192.0.2.9        0x1         0x0         00:00:00:00:00:00     *        eth0\n";

TEST(DefaultRoutes, are_the_usable_ones_of_both_protocols) {
  const auto routes = parse_default_routes(kRoute);
  ASSERT_TRUE(routes) << routes.error().what;
  ASSERT_EQ(routes->size(), 2U);
  EXPECT_EQ((*routes)[0].interface, "eth0");
  EXPECT_EQ((*routes)[0].gateway, "192.0.2.1");
  EXPECT_EQ((*routes)[1].gateway, "");
  const auto ipv6 = parse_default_routes_ipv6(kRouteIpv6);
  ASSERT_TRUE(ipv6) << ipv6.error().what;
  ASSERT_EQ(ipv6->size(), 1U);
  EXPECT_TRUE(ipv6->front().is_ipv6);
}

TEST(Neighbours, have_answered_or_not) {
  const auto neighbours = parse_neighbours(kArp);
  ASSERT_TRUE(neighbours) << neighbours.error().what;
  ASSERT_EQ(neighbours->size(), 2U);
  EXPECT_TRUE((*neighbours)[0].has_answered);
  EXPECT_EQ((*neighbours)[1].address, "192.0.2.9");
  EXPECT_FALSE((*neighbours)[1].has_answered);
}

TEST(RoutesAndNeighbours, refuse_what_is_no_row) {
  EXPECT_TRUE(parse_default_routes("")->empty());
  EXPECT_TRUE(parse_neighbours("")->empty());
  for (const char* text : {"eth0 00000000", "eth0\t0\tx\t1\t0\t0\t0\t0", "\xff\xfe"}) {
    EXPECT_EQ(parse_default_routes(text).error().code, Errc::malformed) << text;
    EXPECT_EQ(parse_default_routes_ipv6(text).error().code, Errc::malformed) << text;
    EXPECT_EQ(parse_neighbours(text).error().code, Errc::malformed) << text;
  }
}

TEST(Resolvers, are_in_the_order_of_the_file) {
  const TestFolder folder;
  const Files files(folder.path());
  EXPECT_EQ(read_resolvers(files).error().code, Errc::not_found);
  folder.write("/etc/resolv.conf",
               "# x\nsearch example\nnameserver 192.0.2.53\n nameserver 192.0.2.54\n\tnameserver 192.0.2.55\n"
               "nameserver\t::1 # y\nnameserver\nnameservers 192.0.2.56\n");
  EXPECT_EQ(read_resolvers(files).value(), (std::vector<std::string>{"192.0.2.53", "::1"}));
}

// A network of its own whose gateway does not exist.
TEST(RoutesOfThisKernel, a_gateway_that_does_not_answer_is_seen) {
  const std::string id = std::to_string(::getpid());
  const std::string space = "aprt" + id;
  const auto run = [](const std::string& command) { return run_program({"sh", "-c", command}).empty(); };
  if (!run("ip netns add " + space))
    GTEST_SKIP() << "cannot make a network namespace: needs root and iproute2";
  const TestFolder folder;
  const std::string inside = "ip netns exec " + space + " ";
  const std::string in = "ip -n " + space + " ";
  const bool made = run(in + "link add va type veth peer name vb && " + in + "link set va up && " + in +
                        "link set vb up && " + in + "addr add 198.51.100.2/24 dev va && " + in +
                        "route add default via 198.51.100.1");
  run(inside + "bash -c 'echo x > /dev/udp/198.51.100.1/9'");
  run("mkdir -p " + folder.path() + "/proc/net");
  for (const char* file : {"route", "arp", "ipv6_route"})
    run(inside + "cat /proc/net/" + file + " > " + folder.path() + "/proc/net/" + file);
  run("ip netns del " + space);
  if (!made) GTEST_SKIP() << "cannot make a veth pair in a network namespace";
  const Files files(folder.path());
  const auto routes = read_default_routes(files);
  ASSERT_TRUE(routes) << routes.error().what;
  ASSERT_EQ(routes->size(), 1U);
  EXPECT_EQ(routes->front().gateway, "198.51.100.1");
  const auto neighbours = read_neighbours(files).value();
  const auto gateway = std::ranges::find(neighbours, "198.51.100.1", &Neighbour::address);
  ASSERT_NE(gateway, neighbours.end());
  EXPECT_FALSE(gateway->has_answered);
}

}  // namespace
}  // namespace autopilot::host
