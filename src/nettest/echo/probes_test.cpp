// SPDX-License-Identifier: Apache-2.0

#include "nettest/echo/probes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::nettest {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

const std::string kMeasured = R"({"program":"autopilot-net-probe","format":1,"role":"measure","directions":[
  {"direction":"to_peer","sent_bits_per_second":990500000,"received_bits_per_second":990000000,"samples":[991000000,990000000]}],
  "processes":[{"port":5201,"directions":[{"direction":"to_peer","sent_bits_per_second":600000000,"received_bits_per_second":590000000}]},
  {"port":5202,"directions":[{"direction":"to_peer","sent_bits_per_second":390500000,"received_bits_per_second":400000000}]},{"port":5203},7]})";

TEST(NetProbe, bits_are_bits) {
  const auto report = parse_bandwidth(kMeasured, false);
  ASSERT_TRUE(report) << report.error().what;
  ASSERT_TRUE(report->measured);
  EXPECT_EQ(report->measured->all.received, 990'000'000);
  EXPECT_EQ(report->measured->all.sent, 990'500'000);
  ASSERT_EQ(report->measured->processes.size(), 2U);
  EXPECT_EQ(report->measured->processes[0].sent, 600'000'000);
  EXPECT_EQ(report->measured->processes[1].received, 400'000'000);
  EXPECT_THAT(report->measured->samples, ElementsAre(991'000'000, 990'000'000));
  EXPECT_EQ(report->reason, "");
}

TEST(NetProbe, the_reason_of_a_missing_measurement_is_not_an_error_of_the_report) {
  const auto report = parse_bandwidth(
      R"({"role":"measure","reason":"refused","error":"port 5999: no program listens on the port","directions":[]})",
      true);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_FALSE(report->measured);
  EXPECT_EQ(report->reason, "refused");
  EXPECT_EQ(report->error, "port 5999: no program listens on the port");
}

TEST(NetProbe, a_report_without_the_requested_direction_is_refused) {
  EXPECT_FALSE(parse_bandwidth(kMeasured, true));
  for (
      const std::string text :
      {"", "[]", "{}", R"({"role":"serve","directions":[]})", R"({"role":"measure"})",
       R"({"role":"measure","directions":[7]})",
       R"({"role":"measure","directions":[{"direction":"to_peer","sent_bits_per_second":1}]})",
       R"({"role":"measure","directions":[{"direction":"to_peer","sent_bits_per_second":1,"received_bits_per_second":-1}]})",
       R"({"role":"measure","directions":[{"direction":"to_peer","sent_bits_per_second":1,"received_bits_per_second":1e99}]})"}) {
    const auto refused = parse_bandwidth(text, false);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Errc::malformed);
  }
  EXPECT_FALSE(parse_bandwidth(kMeasured + std::string(kMaxNetProbeReport, ' '), false));
}

TEST(NetProbe, servers_that_listen_report_their_ports) {
  const auto ports =
      parse_listening(R"({"role":"serve","address":"10.1.0.7","ports":[41000,41001],"failed":[]})");
  ASSERT_TRUE(ports) << ports.error().what;
  EXPECT_THAT(*ports, ElementsAre(41000, 41001));
}

TEST(NetProbe, a_server_that_does_not_listen_reports_the_reason) {
  const auto refused = parse_listening(
      R"({"role":"serve","ports":[41000],"failed":[{"reason":"no_address","error":"10.1.0.9 is not of this machine"}]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(refused.error().what, "10.1.0.9 is not of this machine");
}

TEST(NetProbe, an_invalid_line_of_a_server_is_refused) {
  for (const std::string text :
       {"", "{}", R"({"role":"measure","ports":[1],"failed":[]})", R"({"role":"serve"})",
        R"({"role":"serve","ports":[],"failed":[]})", R"({"role":"serve","ports":[0],"failed":[]})",
        R"({"role":"serve","ports":[65536],"failed":[]})",
        R"({"role":"serve","ports":["41000"],"failed":[]})"}) {
    const auto refused = parse_listening(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Errc::malformed);
  }
}

TEST(NetProbe, only_the_other_end_of_the_pair_is_heard) {
  BandwidthServer server{.address = "10.1.0.7", .processes = 2, .seconds = 30, .allowed = {"10.1.0.9"}};
  const auto command = command_of("/opt/probe", server);
  EXPECT_EQ(command.program, "/opt/probe");
  EXPECT_THAT(command.arguments, ElementsAre("serve", "--bind", "10.1.0.7", "--port", "0", "--count", "2",
                                             "--seconds", "30", "--allow", "10.1.0.9", "--numa", "auto"));
  server.first_port = 5200;
  server.allowed.emplace_back("10.1.0.8");
  EXPECT_THAT(command_of("/opt/probe", server).arguments,
              ElementsAre("serve", "--bind", "10.1.0.7", "--port", "5200", "--count", "2", "--seconds", "30",
                          "--allow", "10.1.0.9,10.1.0.8", "--numa", "auto"));
}

TEST(NetProbe, a_test_has_a_process_for_each_port_and_a_limit_where_one_is_wanted) {
  BandwidthTest test{
      .address = "10.1.0.9", .to = "10.1.0.7", .ports = {41000, 41001}, .streams = 4, .seconds = 3};
  EXPECT_THAT(
      command_of("/p", test).arguments,
      ElementsAre("measure", "--to", "10.1.0.7", "--port", "41000,41001", "--bind", "10.1.0.9", "--processes",
                  "2", "--streams", "4", "--seconds", "3", "--omit", "1", "--numa", "auto"));
  EXPECT_THAT(command_of("/p", test).arguments, Not(Contains("--reverse")));
  test.from_peer = true;
  test.most = 400'000'000;
  EXPECT_THAT(command_of("/p", test).arguments, Contains("--reverse"));
  EXPECT_THAT(command_of("/p", test).arguments, Contains("400000000"));
}

const std::string kByRdma = R"({"role":"measure","to":"10.1.0.7","directions":[
  {"direction":"to_peer","sent_bits_per_second":197580000000,"received_bits_per_second":197580000000,"samples":[197580000000]},
  {"direction":"from_peer","sent_bits_per_second":191200000000,"received_bits_per_second":191200000000,"samples":[191200000000]}],
  "latency":{"typical_microseconds":1.27,"p99_microseconds":1.37,"max_microseconds":5.19}})";

TEST(NetProbe, a_test_by_rdma_has_both_directions_and_the_latency) {
  const auto report = parse_rdma(kByRdma);
  ASSERT_TRUE(report) << report.error().what;
  ASSERT_TRUE(report->measured);
  EXPECT_EQ(report->measured->to_peer.all.received, 197.58e9);
  EXPECT_EQ(report->measured->from_peer.all.received, 191.2e9);
  ASSERT_TRUE(report->measured->latency);
  EXPECT_EQ(report->measured->latency->typical, 1.27);
  EXPECT_EQ(report->measured->latency->p99, 1.37);
  EXPECT_EQ(report->measured->latency->most, 5.19);
}

TEST(NetProbe, or_why_it_does_not) {
  const auto report =
      parse_rdma(R"({"role":"measure","reason":"no_program","error":"ib_write_bw: not there"})");
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->reason, "no_program");
  EXPECT_EQ(report->error, "ib_write_bw: not there");
}

TEST(NetProbe, a_report_by_rdma_without_a_direction_or_the_latency_is_refused) {
  for (const std::string_view missing : {"to_peer", "from_peer", "latency", "p99_microseconds", "5.19"}) {
    std::string text = kByRdma;
    text.replace(text.find(missing), missing.size(), "-1");
    const auto refused = parse_rdma(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Errc::malformed);
  }
}

TEST(NetProbe, by_rdma_a_port_of_a_device_is_named_on_both_ends) {
  EXPECT_THAT(command_of("/p", RdmaServer{"10.1.0.7", "mlx5_0/1", 30, 3}).arguments,
              ElementsAre("rdma-serve", "--bind", "10.1.0.7", "--device", "mlx5_0/1", "--seconds", "30",
                          "--test-seconds", "3"));
  EXPECT_THAT(command_of("/p", RdmaServer{"10.1.0.7", "mlx5_0/1", 30, 3, "0000:1b:00.0"}).arguments,
              ElementsAre("rdma-serve", "--bind", "10.1.0.7", "--device", "mlx5_0/1", "--seconds", "30",
                          "--test-seconds", "3", "--gpu", "0000:1b:00.0"));
  RdmaTest test{.address = "10.1.0.9",
                .port = "mlx5_2/1",
                .to = "10.1.0.7",
                .ports = {41000, 41001, 41002},
                .seconds = 3};
  EXPECT_THAT(command_of("/p", test).arguments,
              ElementsAre("rdma-measure", "--to", "10.1.0.7", "--bind", "10.1.0.9", "--device", "mlx5_2/1",
                          "--port", "41000,41001,41002", "--seconds", "3"));
  test.gpu = "0000:1b:00.0";
  EXPECT_THAT(command_of("/p", test).arguments, ::testing::IsSupersetOf({"--gpu", "0000:1b:00.0"}));
  test.most = 40'000'000'000;
  EXPECT_THAT(command_of("/p", test).arguments, Contains("40000000000"));
  EXPECT_THAT(command_of("/p", RdmaLoopback{"mlx5_2/1", 3}).arguments,
              ElementsAre("rdma-loopback", "--device", "mlx5_2/1", "--seconds", "3"));
  EXPECT_THAT(
      command_of("/p", RdmaLoopback{"mlx5_2/1", 3, "0000:1b:00.0"}).arguments,
      ElementsAre("rdma-loopback", "--device", "mlx5_2/1", "--seconds", "3", "--gpu", "0000:1b:00.0"));
}

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kId(256, 'a');

TEST(NcclProbe, all_endpoints_get_the_number_of_ranks_and_a_joining_one_its_own) {
  const AllReduceEnd end{.address = "10.2.0.7", .gpus = 8, .ranks = 24, .seconds = 3};
  EXPECT_THAT(command_of("/probe", AllReduceServer{end}).arguments,
              ElementsAre("nccl-serve", "--bind", "10.2.0.7", "--count", "8", "--ranks", "24", "--seconds",
                          "3", "--patience", "20", "--require-idle"));
  EXPECT_THAT(command_of("/probe", AllReduceTest{end, 16, kId}).arguments,
              ElementsAre("nccl-measure", "--id", "-", "--first", "16", "--bind", "10.2.0.7", "--count", "8",
                          "--ranks", "24", "--seconds", "3", "--patience", "20", "--require-idle"));
}

TEST(NcclProbe, gpus_of_amd_are_asked_for_by_name) {
  AllReduceEnd end;
  EXPECT_THAT(command_of("/probe", AllReduceServer{end}).arguments, Not(Contains("--vendor")));
  end.vendor = host::GpuVendor::amd;
  EXPECT_EQ(command_of("/probe", AllReduceServer{end}).arguments.back(), "amd");
  EXPECT_THAT(command_of("/probe", AllReduceTest{end, 8, kId}).arguments, Contains("--vendor"));
}

TEST(NcclProbe, the_id_is_not_an_argument_and_replaces_an_inherited_one) {
  ::setenv("AUTOPILOT_NCCL_ID", "inherited", 1);
  const host::Command server = command_of("/probe", AllReduceServer{});
  const host::Command test = command_of("/probe", AllReduceTest{{}, 8, kId});
  ::unsetenv("AUTOPILOT_NCCL_ID");
  EXPECT_THAT(server.environment, Not(Contains(StartsWith("AUTOPILOT_NCCL_ID="))));
  EXPECT_THAT(test.environment, Contains("AUTOPILOT_NCCL_ID=" + kId));
  EXPECT_THAT(test.environment, Contains(StartsWith("AUTOPILOT_NCCL_ID=")).Times(1));
  EXPECT_THAT(test.arguments, Not(Contains(kId)));
}

TEST(NcclProbe, what_would_show_it_other_gpus_is_kept_from_it) {
  for (const char* chooses : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    ::setenv(chooses, "", 1);
    const auto environment = command_of("/probe", AllReduceServer{}).environment;
    ::unsetenv(chooses);
    EXPECT_THAT(environment, Not(Contains(StartsWith(chooses))));
  }
}

TEST(NcclProbe, a_server_reports_its_id_or_the_reason_of_its_failure) {
  EXPECT_EQ(
      parse_nccl_id(R"({"program":"autopilot-gpu-probe","format":1,"id":")" + kId + R"(","gpus":8})").value(),
      kId);
  const auto refused = parse_nccl_id(R"({"reason":"busy","error":"gpu 3: process 4711 is on it"})");
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(refused.error().what, "gpu 3: process 4711 is on it");
  for (const std::string& line :
       {std::string(), std::string("{}"), std::string("[]"), std::string(R"({"id":7})"),
        R"({"id":")" + std::string(255, 'a') + R"("})", R"({"id":")" + std::string(255, 'a') + R"( "})"})
    EXPECT_EQ(parse_nccl_id(line).error().code, Errc::malformed) << line;
}

TEST(NcclProbe, a_report_is_a_figure_or_a_reason) {
  const auto report = parse_all_reduce(
      R"({"ranks":16,"bytes":268435456,"bus_bits_per_second":3.2e12,"samples":[3.1e12,3.3e12,"x",-1]})");
  ASSERT_TRUE(report) << report.error().what;
  const AllReduce measured = report->measured.value_or(AllReduce{});
  EXPECT_EQ(measured.bus, 3.2e12);
  EXPECT_THAT(measured.samples, ElementsAre(3.1e12, 3.3e12));
  const auto reason = parse_all_reduce(R"({"reason":"no_library","error":"libnccl.so.2 is not there"})");
  ASSERT_TRUE(reason) << reason.error().what;
  EXPECT_FALSE(reason->measured);
  EXPECT_EQ(reason->reason, "no_library");
}

TEST(NcclProbe, a_wrong_sum_names_its_first_rank) {
  const auto rank_of = [](const std::string& number) {
    return parse_all_reduce(R"({"reason":"wrong_result","error":"x","wrong_rank":)" + number + "}")
        .value()
        .wrong_rank;
  };
  EXPECT_EQ(rank_of("0"), 0);
  EXPECT_EQ(rank_of("4095"), 4095);
  for (const std::string text : {"4096", "-1", "1.5", "99999999999999999999", R"("3")", "null"})
    EXPECT_EQ(rank_of(text), std::nullopt) << text;
  EXPECT_EQ(parse_all_reduce(R"({"reason":"busy"})").value().wrong_rank, std::nullopt);
}

TEST(NcclProbe, a_report_without_both_is_none) {
  for (const std::string text :
       {"", "7", "{}", R"({"bus_bits_per_second":"fast"})", R"({"bus_bits_per_second":0})",
        R"({"bus_bits_per_second":-1})", R"({"bus_bits_per_second":1e99})", R"({"reason":""})"})
    EXPECT_THAT(parse_all_reduce(text).error().what, HasSubstr("report of autopilot-gpu-probe")) << text;
  EXPECT_FALSE(parse_all_reduce(R"({"bus_bits_per_second":1})" + std::string(kMaxNcclProbeReport, ' ')));
}

}  // namespace

}  // namespace autopilot::nettest
