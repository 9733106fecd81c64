// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {
namespace {

using testing::HasSubstr;
using testing::Not;

ProcessReport process(int port, double bits) {
  IperfResult measured;
  measured.to_peer = {.sent_bits_per_second = bits + 0.4,
                      .received_bits_per_second = bits,
                      .retransmits = 7,
                      .samples = {{.seconds = 1, .bits_per_second = bits}}};
  measured.cpu_percent = 12.5;
  measured.mss_bytes = 1448;
  measured.version = "iperf 3.12";
  return {.port = port, .processors = {8}, .measured = measured, .failure = {}};
}

MeasureReport measured() {
  MeasureReport report;
  report.options.to = *parse_address("10.0.0.2");
  report.processes = {process(5201, 990e6), process(5202, 10e6)};
  return report;
}

TEST(Report, bandwidths_are_whole_bits_per_second) {
  EXPECT_THAT(
      to_json(measured()),
      HasSubstr(R"("directions":[{"direction":"to_peer","sent_bits_per_second":1000000001,)"
                R"("received_bits_per_second":1000000000,"retransmits":14,"samples":[1000000000]}])"));
  EXPECT_EQ(exit_code_of(measured()), exit_done);
}

TEST(Report, every_process_is_reported_separately) {
  const std::string text = to_json(measured());
  EXPECT_THAT(text, HasSubstr(R"({"port":5201,"processors":[8],"directions":[{"direction":"to_peer",)"));
  EXPECT_THAT(text, HasSubstr(R"("cpu_percent":1.25E1,"mss_bytes":1448,"version":"iperf 3.12"})"));
}

TEST(Report, unknown_values_are_left_out) {
  const std::string text = to_json(measured());
  for (const char* name :
       {"peer_cpu_percent", "peer_version", "numa_node", "limit", "reason", "error", "stopped", "from_peer"})
    EXPECT_THAT(text, Not(HasSubstr(name)));
}

TEST(Report, without_one_process_there_is_no_sum_but_the_others_are_reported) {
  MeasureReport report = measured();
  report.processes[1].measured.reset();
  report.processes[1].failure = {Reason::refused,
                                 "10.0.0.2 port 5202: connection refused: no program listens on the port"};
  const std::string text = to_json(report);
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("reason":"refused","error":"10.0.0.2 port 5202: connection refused: no program listens on the port","to":)"));
  EXPECT_THAT(text, HasSubstr(R"("directions":[],"processes":[{"port":5201)"));
  EXPECT_THAT(text, HasSubstr(R"("received_bits_per_second":990000000)"));
  EXPECT_EQ(exit_code_of(report), exit_not_measured);
}

TEST(Report, foreign_text_is_escaped) {
  MeasureReport report = measured();
  report.failure = {Reason::internal, "\xff\""};
  EXPECT_THAT(to_json(report), HasSubstr("\xef\xbf\xbd\\\""));
}

TEST(Report, listening_and_failed_servers_are_distinguished) {
  ServeReport report;
  report.options.bind = *parse_address("10.0.0.2");
  report.servers = {{.port = 5201, .failure = {}},
                    {.port = 5202, .failure = Failure{Reason::port_taken, "taken"}}};
  EXPECT_THAT(to_json(report),
              HasSubstr(R"("ports":[5201],"failed":[{"port":5202,"reason":"port_taken","error":"taken"}])"));
}

RdmaMeasureReport rdma_measured() {
  RdmaMeasureReport report;
  report.options.to = *parse_address("10.0.0.2");
  report.options.bind = *parse_address("10.0.0.1");
  report.options.device = {"mlx5_0", 1};
  report.to_peer = 391.4e9;
  return report;
}

TEST(Report, acknowledged_rdma_data_has_arrived) {
  RdmaMeasureReport report = rdma_measured();
  report.latency = {.typical_microseconds = 1.5, .p99_microseconds = 2, .max_microseconds = 4};
  EXPECT_THAT(
      to_json(report),
      HasSubstr(R"("to":"10.0.0.2","address":"10.0.0.1","device":"mlx5_0","device_port":1,"seconds":5,)"
                R"("queues":1,"directions":[{"direction":"to_peer","sent_bits_per_second":391400000000,)"
                R"("received_bits_per_second":391400000000,"samples":[391400000000]}],)"
                R"("latency":{"typical_microseconds":1.5E0,"p99_microseconds":2E0,)"));
}

TEST(Report, an_rdma_failure_keeps_earlier_measurements) {
  RdmaMeasureReport report = rdma_measured();
  report.failure = Failure{Reason::no_program, "ib_read_bw: install perftest"};
  const std::string text = to_json(report);
  EXPECT_THAT(text, HasSubstr(R"("reason":"no_program","error":"ib_read_bw: install perftest","to":)"));
  EXPECT_THAT(text, HasSubstr(R"({"direction":"to_peer")"));
  for (const char* name : {"from_peer", "latency", "limit", "stopped", "retransmits"})
    EXPECT_THAT(text, Not(HasSubstr(name)));
}

TEST(Report, rdma_servers_are_reported_like_the_others) {
  RdmaServeReport report;
  report.options.bind = *parse_address("10.0.0.2");
  report.options.device = {"mlx5_0", 2};
  report.servers = {{.port = 4001, .failure = {}}, {.port = 4002, .failure = Failure{Reason::denied, "no"}}};
  EXPECT_THAT(
      to_json(report),
      HasSubstr(R"("address":"10.0.0.2","seconds":60,"device":"mlx5_0","device_port":2,"ports":[4001],)"
                R"("failed":[{"port":4002,"reason":"denied","error":"no"}])"));
}

Direction direction(double sent, double received, std::optional<std::int64_t> retransmits,
                    std::vector<Sample> samples = {}) {
  return {.sent_bits_per_second = sent,
          .received_bits_per_second = received,
          .retransmits = retransmits,
          .samples = std::move(samples)};
}

TEST(Sums, bandwidths_of_tests_that_ran_together_are_added) {
  const std::vector<std::optional<Direction>> directions = {direction(100, 90, 1), direction(200, 180, 2),
                                                            direction(300, 270, 3)};
  const auto total = sum_of(directions);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->sent_bits_per_second, 600);
  EXPECT_EQ(total->received_bits_per_second, 540);
  EXPECT_EQ(total->retransmits, 6);
}

TEST(Sums, without_one_of_them_there_is_no_bandwidth) {
  EXPECT_FALSE(sum_of(std::vector<std::optional<Direction>>{direction(1, 1, 0), std::nullopt}));
  EXPECT_FALSE(sum_of(std::vector<std::optional<Direction>>{std::nullopt, direction(1, 1, 0)}));
  EXPECT_FALSE(sum_of({}));
}

TEST(Sums, unknown_retransmits_are_not_zero) {
  EXPECT_EQ(sum_of(std::vector<std::optional<Direction>>{direction(1, 1, 5), direction(1, 1, std::nullopt)})
                ->retransmits,
            std::nullopt);
  EXPECT_EQ(sum_of(std::vector<std::optional<Direction>>{direction(1, 1, std::nullopt), direction(1, 1, 5)})
                ->retransmits,
            std::nullopt);
}

TEST(Sums, samples_are_added_in_their_order_as_far_as_all_have_them) {
  const std::vector<std::optional<Direction>> directions = {direction(1, 1, 0, {{1, 10}, {1, 20}, {0.5, 30}}),
                                                            direction(1, 1, 0, {{1, 1}, {1.1, 2}})};
  const auto total = sum_of(directions);
  ASSERT_EQ(total->samples.size(), 2U);
  EXPECT_EQ(total->samples[0].bits_per_second, 11);
  EXPECT_EQ(total->samples[1].bits_per_second, 22);
  EXPECT_EQ(total->samples[1].seconds, 1.1);
}

TEST(Sums, a_rest_at_the_end_is_not_a_sample) {
  EXPECT_EQ(whole_samples({{1, 10}, {0.6, 20}, {0.002, 3000}}, 1).size(), 2U);
  EXPECT_EQ(whole_samples({{0.1, 10}}, 0.1).size(), 1U);
}

}  // namespace

}  // namespace autopilot::probes::net
