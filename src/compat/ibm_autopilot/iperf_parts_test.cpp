// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/iperf_parts.hpp"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::compat::ibm_autopilot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(IperfParts, servers_have_numbers_of_their_own) {
  const auto usual = read_iperf_servers({});
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->count, 8);
  EXPECT_EQ(usual->first_port, 5200);
  const auto wanted = read_iperf_servers({{"numservers", "2"}, {"startport", "6000"}, {"plane", "data"}});
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->count, 2);
  EXPECT_EQ(wanted->first_port, 6000);
  EXPECT_TRUE(is_of(wanted->plane, "net1"));
  EXPECT_FALSE(is_of(wanted->plane, "eth0"));
  EXPECT_TRUE(is_of(Plane::mgmt, "eth0"));
  EXPECT_TRUE(is_of(Plane::any, "eth0"));
  EXPECT_EQ(read_iperf_servers({{"serverspernode", "3"}})->count, 3);
  EXPECT_EQ(read_iperf_servers({{"serverspernode", "3"}, {"numservers", "4"}})->count, 4);
}

TEST(IperfParts, what_is_beyond_a_limit_is_told) {
  const auto why = [](const QueryParameters& query) {
    const auto wanted = read_iperf_servers(query);
    return wanted ? "" : wanted.error().what;
  };
  EXPECT_THAT(why({{"numservers", "17"}}),
              HasSubstr("Invalid numservers, must be a number from 1 to 16. Got 17"));
  EXPECT_THAT(why({{"numservers", "-1"}}), HasSubstr("Invalid numservers"));
  EXPECT_THAT(why({{"serverspernode", "x\n"}}), HasSubstr("Invalid serverspernode"));
  EXPECT_THAT(why({{"startport", "65536"}}), HasSubstr("Invalid startport"));
  EXPECT_THAT(why({{"startport", "65530"}}), HasSubstr("8 from 65530"));
  EXPECT_THAT(why({{"plane", "eth0"}}), HasSubstr("must be data or mgmt"));
}

TEST(IperfParts, clients_need_to_be_told_where) {
  const auto wanted = read_iperf_clients({{"dstip", "10.2.0.7"}, {"dstport", "5200"}, {"numclients", "3"}});
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->to, "10.2.0.7");
  EXPECT_THAT(wanted->ports, ElementsAre(5200, 5201, 5202));
  EXPECT_TRUE(read_iperf_clients({{"dstip", "10.2.0.7"}, {"dstport", "1"}, {"clientsperiface", "1"}}));
  for (const QueryParameters& query :
       {QueryParameters{}, QueryParameters{{"dstip", "10.2.0.7"}},
        QueryParameters{{"dstip", "10.2.0.7"}, {"dstport", "5200"}},
        QueryParameters{{"dstip", "10.2.0.7"}, {"dstport", "0"}, {"numclients", "1"}},
        QueryParameters{{"dstip", "10.2.0.7"}, {"dstport", "65535"}, {"numclients", "2"}}})
    EXPECT_FALSE(read_iperf_clients(query));
  EXPECT_THAT(read_iperf_clients({{"dstip", "10.2.0.7"}, {"dstport", "1"}}).error().what,
              HasSubstr("Invalid numclients, must be a number from 1 to 16. Got"));
}

TEST(IperfParts, lines_are_lines) {
  EXPECT_EQ(server_line("10.2.0.7", 5200, "net1", "autopilot-x", "gpu-7"),
            "[NETWORK] - [IPERF] - [INFO] : Starting iperf3 server 10.2.0.7:5200 using net1 in autopilot-x "
            "on gpu-7...\n");
  EXPECT_EQ(server_line("10.2.0.7", 5200, "net1", "", "gpu-7"),
            "[NETWORK] - [IPERF] - [INFO] : Starting iperf3 server 10.2.0.7:5200 using net1 on gpu-7...\n");
  EXPECT_EQ(iperf_error_line("no\nway"), "[NETWORK] - [IPERF] - [ERROR] : no way\n");
}

// 990 Mbit/s are 0.99 Gbit/s.
TEST(IperfParts, bits_and_bytes_have_their_units) {
  const std::array<IperfShare, 2> clients{
      {{.sent = 2e9, .received = 1.5e9}, {.sent = 1e9, .received = 0.99e9}}};
  EXPECT_EQ(clients_json(clients), R"({
    "sender": {
        "aggregate": {
            "transfer": "1.75",
            "bitrate": "3.00"
        },
        "mean": {
            "transfer": "0.87",
            "bitrate": "1.50"
        },
        "min": {
            "transfer": "0.58",
            "bitrate": "1.00"
        },
        "max": {
            "transfer": "1.16",
            "bitrate": "2.00"
        }
    },
    "receiver": {
        "aggregate": {
            "transfer": "1.45",
            "bitrate": "2.49"
        },
        "mean": {
            "transfer": "0.72",
            "bitrate": "1.25"
        },
        "min": {
            "transfer": "0.58",
            "bitrate": "0.99"
        },
        "max": {
            "transfer": "0.87",
            "bitrate": "1.50"
        }
    }
}
)");
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
