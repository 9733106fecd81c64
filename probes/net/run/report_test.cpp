// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/net/run/exit_code.hpp"

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

TEST(Report, every_process_is_told_by_itself) {
  const std::string text = to_json(measured());
  EXPECT_THAT(text, HasSubstr(R"({"port":5201,"processors":[8],"directions":[{"direction":"to_peer",)"));
  EXPECT_THAT(text, HasSubstr(R"("cpu_percent":1.25E1,"mss_bytes":1448,"version":"iperf 3.12"})"));
}

TEST(Report, what_nobody_told_is_not_there) {
  const std::string text = to_json(measured());
  for (const char* name :
       {"peer_cpu_percent", "peer_version", "numa_node", "limit", "reason", "error", "stopped", "from_peer"})
    EXPECT_THAT(text, Not(HasSubstr(name)));
}

TEST(Report, without_one_process_there_is_no_sum_but_the_others_are_told) {
  MeasureReport report = measured();
  report.processes[1].measured.reset();
  report.processes[1].failure = {Reason::refused, "10.0.0.2 port 5202: nobody listens there"};
  const std::string text = to_json(report);
  EXPECT_THAT(text,
              HasSubstr(R"("reason":"refused","error":"10.0.0.2 port 5202: nobody listens there","to":)"));
  EXPECT_THAT(text, HasSubstr(R"("directions":[],"processes":[{"port":5201)"));
  EXPECT_THAT(text, HasSubstr(R"("received_bits_per_second":990000000)"));
  EXPECT_EQ(exit_code_of(report), exit_not_looked);
}

TEST(Report, words_of_strangers_do_not_break_it) {
  MeasureReport report = measured();
  report.failure = {Reason::internal, "\xff\""};
  EXPECT_THAT(to_json(report), HasSubstr("\xef\xbf\xbd\\\""));
}

TEST(Report, servers_that_listen_and_those_that_do_not_are_told_apart) {
  ServeReport report;
  report.options.bind = *parse_address("10.0.0.2");
  report.servers = {{.port = 5201, .failure = {}},
                    {.port = 5202, .failure = Failure{Reason::port_taken, "taken"}}};
  EXPECT_THAT(to_json(report),
              HasSubstr(R"("ports":[5201],"failed":[{"port":5202,"reason":"port_taken","error":"taken"}])"));
}

}  // namespace
}  // namespace autopilot::probes::net
