// SPDX-License-Identifier: Apache-2.0
#include "api/bandwidth.hpp"

#include <gtest/gtest.h>

namespace autopilot::api {

namespace {

TEST(Bandwidth, what_is_written_is_read_again) {
  const ServersRequest servers{"10.2.0.7", "10.2.0.9", 2, 30};
  EXPECT_EQ(parse_servers_request(to_json(servers)).value(), servers);
  const ServersAnswer listening{"servers-1", {41000, 41001}};
  EXPECT_EQ(parse_servers_answer(to_json(listening)).value(), listening);
  const BandwidthRequest request{"10.2.0.9", "node-b", "10.2.0.7", {41000}, 4, 3, 400'000'000};
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).value(), request);
  const BandwidthAnswer answer{BandwidthWay{990.5e6, 990e6, {991e6, 990e6}}, BandwidthWay{0, 0}, "", ""};
  EXPECT_EQ(parse_bandwidth_answer(to_json(answer)).value(), answer);
  const ServersRequest by_rdma{"10.2.0.7", "10.2.0.9", 1, 30, "mlx5_0/1", 3};
  EXPECT_EQ(parse_servers_request(to_json(by_rdma)).value(), by_rdma);
  const BandwidthRequest rdma_request{"10.2.0.9", "node-b", "10.2.0.7", {1, 2, 3}, 1, 3, 0, "mlx5_0/1"};
  EXPECT_EQ(parse_bandwidth_request(to_json(rdma_request)).value(), rdma_request);
  const ServersRequest of_gpu{.address = "10.2.0.7",
                              .allowed = "10.2.0.9",
                              .seconds = 30,
                              .rdma_port = "mlx5_0/1",
                              .test_seconds = 3,
                              .memory = Memory::gpu};
  EXPECT_EQ(parse_servers_request(to_json(of_gpu)).value(), of_gpu);
  BandwidthRequest gpu_request = rdma_request;
  gpu_request.memory = Memory::gpu;
  EXPECT_EQ(parse_bandwidth_request(to_json(gpu_request)).value(), gpu_request);
  const ServersRequest by_nccl{"10.2.0.7", "10.2.0.9", 1, 90, "", 3, 8};
  EXPECT_EQ(parse_servers_request(to_json(by_nccl)).value(), by_nccl);
  const ServersAnswer joinable{"servers-1", {}, std::string(kNcclIdLength, 'a')};
  EXPECT_EQ(parse_servers_answer(to_json(joinable)).value(), joinable);
  const BandwidthRequest nccl_request{"10.2.0.9", "node-b", "10.2.0.7", {}, 1, 3,
                                      0,          "",       8,          0,  0, joinable.nccl_id};
  EXPECT_EQ(parse_bandwidth_request(to_json(nccl_request)).value(), nccl_request);
  const ServersRequest of_many{"10.2.0.7", "10.2.0.9", 1, 90, "", 3, 8, 24};
  EXPECT_EQ(parse_servers_request(to_json(of_many)).value(), of_many);
  const BandwidthRequest joins_many{"10.2.0.9", "node-b", "10.2.0.7", {}, 1,  3,
                                    0,          "",       8,          24, 16, joinable.nccl_id};
  EXPECT_EQ(parse_bandwidth_request(to_json(joins_many)).value(), joins_many);
  const BandwidthAnswer with_latency{BandwidthWay{2e11, 2e11}, BandwidthWay{1e11, 1e11}, "", "",
                                     BandwidthLatency{1.27, 1.5, 5.25}};
  EXPECT_EQ(parse_bandwidth_answer(to_json(with_latency)).value(), with_latency);
  const BandwidthAnswer refused{std::nullopt, BandwidthWay{1, 1}, "refused", "nobody listens there"};
  EXPECT_EQ(parse_bandwidth_answer(to_json(refused)).value(), refused);
}

TEST(Bandwidth, what_is_beyond_the_limits_is_refused_with_its_name) {
  ServersRequest servers{"10.2.0.7", "10.2.0.9", 17, 30};
  EXPECT_EQ(parse_servers_request(to_json(servers)).error().what, "processes: expected 1 to 16");
  servers = {"10.2.0.7", "10.2.0.9", 1, 121};
  EXPECT_EQ(parse_servers_request(to_json(servers)).error().what, "seconds: expected 1 to 120");
  BandwidthRequest request{"a", "b", "c", {}, 1, 1};
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what, "ports: expected 1 to 16");
  request.ports = {0};
  EXPECT_FALSE(parse_bandwidth_request(to_json(request)));
  request = {"a", "b", "c", {1}, 65, 1};
  EXPECT_FALSE(parse_bandwidth_request(to_json(request)));
  request = {"a", "b", "c", {1}, 1, 16};
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what, "seconds: expected 1 to 15");
  request = {"a", "b", "c", {1, 2}, 1, 1, 0, "mlx5_0/1"};
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what,
            "ports: the number of ports for RDMA is 3");
  request = {"a", "b", "fd00::1", {1, 2, 3}, 1, 1, 0, "mlx5_0/1"};
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what, "to: RDMA needs an IPv4 address");
  request = {"a", "b", "c", {1, 2, 3}, 1, 1, 999'999, "mlx5_0/1"};
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what,
            "mostBitsPerSecond: the minimum for RDMA is 1000000");
  servers = {"10.2.0.7", "10.2.0.9", 1, 30, "mlx5_0/1", 16};
  EXPECT_EQ(parse_servers_request(to_json(servers)).error().what, "testSeconds: expected 1 to 15");
  servers = {"10.2.0.7", "10.2.0.9", 1, 30, "", 3, 65};
  EXPECT_EQ(parse_servers_request(to_json(servers)).error().what, "gpus: expected 1 to 64");
  servers = {"10.2.0.7", "10.2.0.9", 1, 30, "mlx5_0/1", 3, 8};
  EXPECT_EQ(parse_servers_request(to_json(servers)).error().what, "rdmaPort, gpus: expected one of them");
  servers = {"10.2.0.7", "10.2.0.9", 1, 30, "", 0, 8};
  EXPECT_EQ(parse_servers_request(to_json(servers)).error().what, "testSeconds: expected 1 to 15");
  BandwidthAnswer answer{BandwidthWay{1, 1}, BandwidthWay{1, 1}, "", "", BandwidthLatency{1, -1, 1}};
  EXPECT_EQ(parse_bandwidth_answer(to_json(answer)).error().what, "latency: expected microseconds");
}

TEST(Bandwidth, the_memory_of_gpus_is_for_rdma_and_nobody_names_a_gpu) {
  const std::string why = "memory: GPU memory needs RDMA; set rdmaPort";
  for (const std::size_t gpus : {0U, 8U}) {
    const ServersRequest servers{.address = "a",
                                 .allowed = "b",
                                 .seconds = 30,
                                 .test_seconds = 3,
                                 .gpus = gpus,
                                 .memory = Memory::gpu};
    EXPECT_EQ(parse_servers_request(to_json(servers)).error().what, why);
    BandwidthRequest request{"a", "b", "c", {1}, 1, 1};
    request.gpus = gpus;
    request.nccl_id = std::string(kNcclIdLength, 'a');
    request.memory = Memory::gpu;
    EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what, why);
  }
  const auto asked_for = [](const std::string& memory) {
    return parse_servers_request(
        R"({"address":"a","allowed":"b","processes":1,"seconds":1,"rdmaPort":"mlx5_0/1","testSeconds":1,"memory":)" +
        memory + "}");
  };
  EXPECT_EQ(asked_for(R"("host")").value().memory, Memory::host);
  EXPECT_EQ(asked_for(R"("gpu")").value().memory, Memory::gpu);
  for (const char* other : {R"("0000:1b:00.0")", R"("")", R"("GPU")", "1", "true"})
    EXPECT_FALSE(asked_for(other)) << other;
}

TEST(Bandwidth, a_wrong_sum_has_a_place) {
  BandwidthAnswer answer{{}, {}, "wrong_result", "gpu 1: -10 in place of 10", {}, kWrongThere};
  EXPECT_EQ(parse_bandwidth_answer(to_json(answer)).value(), answer);
  answer.wrong_at = "elsewhere";
  EXPECT_EQ(parse_bandwidth_answer(to_json(answer)).error().what, "wrongAt: expected `here` or `there`");
  ServersEnd end{"wrong_result", "gpu 1: -10 in place of 10", kWrongHere};
  EXPECT_EQ(parse_servers_end(to_json(end)).value(), end);
  end.wrong_at = "elsewhere";
  EXPECT_EQ(parse_servers_end(to_json(end)).error().what, "wrongAt: expected `here` or `there`");
  EXPECT_EQ(parse_servers_end("{}").value(), ServersEnd{});
  EXPECT_FALSE(parse_servers_end("[]"));
}

TEST(Bandwidth, ranks_of_an_all_reduce_are_those_of_its_nodes) {
  EXPECT_EQ(ranks_of(0, 8), 16U) << "of a pair";
  EXPECT_EQ(ranks_of(24, 8), 24U);
  ServersRequest servers{"10.2.0.7", "10.2.0.9", 1, 30, "", 3, 8, 8};
  EXPECT_EQ(parse_servers_request(to_json(servers)).error().what,
            "ranks: expected more than gpus, and at most 4096");
  servers.ranks = 4097;
  EXPECT_FALSE(parse_servers_request(to_json(servers)));
  BandwidthRequest request{"a", "b", "c", {}, 1, 1, 0, "", 8, 24, 17, std::string(kNcclIdLength, 'a')};
  const std::string why = "firstRank: expected 1 to ranks less gpus, with ranks";
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what, why);
  request.first_rank = 0;
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what, why) << "who waits has that";
  request.ranks = 0;
  request.first_rank = 8;
  EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what, why);
}

TEST(Bandwidth, whom_to_join_by_nccl_is_its_digits_and_nothing_else) {
  const std::string why = "ncclId: expected 256 hexadecimal digits";
  for (const std::string& id :
       {std::string(), std::string("--help"), std::string(255, 'a'), std::string(257, 'a'),
        std::string(255, 'a') + "g", std::string(255, 'a') + "A", std::string(256, ' ')}) {
    const BandwidthRequest request{"a", "b", "c", {}, 1, 3, 0, "", 8, 0, 0, id};
    EXPECT_EQ(parse_bandwidth_request(to_json(request)).error().what, why) << id;
    if (id.empty()) continue;
    EXPECT_EQ(parse_servers_answer(to_json(ServersAnswer{"x", {}, id})).error().what, why);
  }
}

TEST(Bandwidth, an_answer_without_a_way_and_without_a_reason_is_none) {
  EXPECT_FALSE(parse_bandwidth_answer("{}"));
  EXPECT_FALSE(parse_bandwidth_answer(to_json(BandwidthAnswer{BandwidthWay{1, 1}, std::nullopt, "", ""})));
  EXPECT_FALSE(parse_bandwidth_answer(
      R"({"toPeer":{"sentBitsPerSecond":-1,"receivedBitsPerSecond":1,"samples":[]},"fromPeer":{"sentBitsPerSecond":1,"receivedBitsPerSecond":1,"samples":[]}})"));
  EXPECT_FALSE(parse_servers_answer(R"({"id":"x","ports":[]})"));
  EXPECT_FALSE(parse_servers_answer(R"({"id":"x","ports":[{"port":70000}]})"));
  EXPECT_FALSE(
      parse_servers_request(R"({"address":"a","allowed":"b","processes":1,"seconds":1,"command":"x"})"));
}

TEST(BandwidthPlan, comes_back_as_it_was) {
  const BandwidthPlan plan{.rails = {{"ib0", {"a", "b", "c"}}},
                           .pairs = {{"ib0", "a", "b"}},
                           .seconds = 10,
                           .rounds = 3,
                           .most_percent = 40,
                           .left_out = {{"d", "does not answer"}},
                           .simulated = true};
  const auto back = parse_bandwidth_plan(to_json(plan));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(*back, plan);
  EXPECT_EQ(*parse_bandwidth_plan(to_json(BandwidthPlan{})), BandwidthPlan{});
}

TEST(BandwidthPlan, half_a_plan_is_none) {
  for (
      const char* text :
      {"", "{}",
       R"({"simulated":false,"rails":[],"firstRound":[{"rail":"ib0"}],"firstRoundSeconds":1,"rounds":1,"mostPercent":1,"leftOut":[]})"})
    EXPECT_FALSE(parse_bandwidth_plan(text)) << text;
}

}  // namespace

}  // namespace autopilot::api
