// SPDX-License-Identifier: Apache-2.0
#include "probes/net/perftest/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

std::string joined(const PerftestTest& test) {
  std::string text;
  for (const std::string& word : perftest_arguments(test))
    text.append(text.empty() ? "" : " ").append(word);
  return text;
}

PerftestTest server(Tool tool) {
  return {.tool = tool,
          .device = {"mlx5_0", 2},
          .address = "10.0.0.1",
          .source_option = SourceOption::source_ip,
          .port = 4000,
          .seconds = 5,
          .queues = 4};
}

PerftestTest client(Tool tool) {
  PerftestTest test = server(tool);
  test.to = "10.0.0.2";
  return test;
}

TEST(PerftestArguments, of_bandwidth_have_the_margins_in_the_duration) {
  EXPECT_EQ(joined(server(Tool::write_bandwidth)),
            "ib_write_bw -d mlx5_0 -i 2 -p 4000 -F --report_gbits -D 7 -f 1 -s 65536 -q 4 "
            "--source_ip=10.0.0.1");
  EXPECT_EQ(joined(client(Tool::read_bandwidth)),
            "ib_read_bw -d mlx5_0 -i 2 -p 4000 -F --report_gbits -D 7 -f 1 -s 65536 -q 4 "
            "--source_ip=10.0.0.1 10.0.0.2");
}

TEST(PerftestArguments, of_latency_have_a_number_of_messages) {
  EXPECT_EQ(joined(client(Tool::send_latency)),
            "ib_send_lat -d mlx5_0 -i 2 -p 4000 -F -n 5000 -s 2 --source_ip=10.0.0.1 10.0.0.2");
}

TEST(PerftestArguments, the_local_address_is_passed_in_the_form_of_the_version) {
  PerftestTest test = client(Tool::send_latency);
  test.source_option = SourceOption::bind_source_ip;
  EXPECT_THAT(joined(test), testing::EndsWith(" --bind_source_ip 10.0.0.1 10.0.0.2"));
  test.source_option.reset();
  EXPECT_THAT(joined(test), testing::EndsWith(" -s 2 10.0.0.2"));
}

TEST(PerftestArguments, a_limit_is_of_the_client_and_of_bandwidth) {
  const std::string limited = " --rate_limit=9.900000 --rate_limit_type=SW --rate_units=g";
  PerftestTest test = client(Tool::write_bandwidth);
  test.bits_per_second = 9'900'000'000;
  EXPECT_THAT(joined(test), testing::HasSubstr(limited));
  test.tool = Tool::send_latency;
  EXPECT_THAT(joined(test), testing::Not(testing::HasSubstr("rate")));
  test = server(Tool::write_bandwidth);
  test.bits_per_second = 9'900'000'000;
  EXPECT_THAT(joined(test), testing::Not(testing::HasSubstr("rate")));
}

TEST(PerftestArguments, the_memory_of_a_gpu_is_used_for_bandwidth) {
  for (PerftestTest test : {client(Tool::write_bandwidth), server(Tool::read_bandwidth)}) {
    EXPECT_THAT(joined(test), testing::Not(testing::HasSubstr("cuda")));
    test.device.gpu = "0000:1b:00.0";
    EXPECT_THAT(joined(test), testing::HasSubstr(" --use_cuda_bus_id=0000:1b:00.0 "));
  }
  PerftestTest latency = client(Tool::send_latency);
  latency.device.gpu = "0000:1b:00.0";
  EXPECT_THAT(joined(latency), testing::Not(testing::HasSubstr("cuda")));
}

TEST(PerftestArguments, each_side_is_named_by_its_peer) {
  EXPECT_EQ(place_of(server(Tool::read_bandwidth)), "ib_read_bw at 10.0.0.1 port 4000");
  EXPECT_EQ(place_of(client(Tool::send_latency)), "ib_send_lat to 10.0.0.2 port 4000");
}

TEST(Device, is_a_name_with_or_without_a_port) {
  EXPECT_EQ(parse_device("mlx5_0")->name, "mlx5_0");
  EXPECT_EQ(parse_device("mlx5_0")->port, 1);
  EXPECT_EQ(parse_device("rocep59s0f1/2")->port, 2);
  EXPECT_EQ(parse_device("mlx5_bond-0.1/254")->name, "mlx5_bond-0.1");
}

TEST(Device, other_text_is_refused) {
  for (const char* text : {"", "/1", "mlx5_0/", "mlx5_0/0", "mlx5_0/255", "mlx5_0/1/1", "mlx5_0/x", "-d",
                           "..", "mlx5 0", "mlx5_0\n", "mlx5;0", "\xff"})
    EXPECT_FALSE(parse_device(text)) << text;
  EXPECT_FALSE(parse_device(std::string(64, 'a')));
}

TEST(Help, names_the_memory_of_gpus_where_perftest_is_built_with_cuda) {
  EXPECT_TRUE(
      has_cuda_in("      --use_cuda=<cuda device id>\n      --use_cuda_bus_id=<cuda full BUS id>  Use it\n"));
  for (const char* text : {"", "--use_cuda=<cuda device id>", "use_cuda_bus_id", "--use_cuda_bus_idx"})
    EXPECT_FALSE(has_cuda_in(text)) << text;
}

TEST(SourceOption, is_read_from_the_help) {
  EXPECT_EQ(source_option_in("      --ipv6  Use IPv6 GID\n      --source_ip  Source IP of the interface\n"),
            SourceOption::source_ip);
  EXPECT_EQ(source_option_in("  --bind_source_ip=<ip>  Source IP\n  --source_ip <ip>\n"),
            SourceOption::bind_source_ip);
  for (const char* text : {"", "--source_ipx", "source_ip", "--source_port\n"})
    EXPECT_FALSE(source_option_in(text)) << text;
}

}  // namespace
}  // namespace autopilot::probes::net
