// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

using testing::Contains;
using testing::Not;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += " " + word;
  return text + " ";
}

TEST(ClientArguments, contain_the_options_of_iperf3) {
  const std::string text = joined(client_arguments({.to = "10.0.0.2",
                                                    .port = 5202,
                                                    .source = "10.0.0.1",
                                                    .interface = "ib0",
                                                    .streams = 4,
                                                    .seconds = 10,
                                                    .omit_seconds = 2,
                                                    .sample_seconds = 0.5,
                                                    .stream_bits_per_second = 100'000'000'000}));
  for (const char* part :
       {" --client 10.0.0.2 ", " --port 5202 ", " --bind 10.0.0.1 ", " --bind-dev ib0 ", " --parallel 4 ",
        " --time 10 ", " --omit 2 ", " --interval 0.500000 ", " --bitrate 100000000000 ", " --json "})
    EXPECT_THAT(text, testing::HasSubstr(part));
}

TEST(ClientArguments, the_flow_has_one_direction_or_both) {
  EXPECT_THAT(client_arguments({.flow = Flow::from_peer}), Contains("--reverse"));
  EXPECT_THAT(client_arguments({.flow = Flow::both}), Contains("--bidir"));
  EXPECT_THAT(client_arguments({}),
              Not(Contains(testing::AnyOf("--reverse", "--bidir", "--rcv-timeout", "--bitrate"))));
}

TEST(ServerArguments, contain_address_and_port) {
  const std::string text = joined(server_arguments({.address = "fe80::1%ib0", .port = 5201, .allowed = {}}));
  for (const char* part : {" --server ", " --bind fe80::1%ib0 ", " --port 5201 "})
    EXPECT_THAT(text, testing::HasSubstr(part));
}

}  // namespace
}  // namespace autopilot::probes::net
