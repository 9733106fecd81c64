// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/measure.hpp"

#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "probes/net/iperf/output.hpp"

namespace autopilot::probes::net {
namespace {

void write_report(int output, const std::string& text) {
  EXPECT_EQ(::write(output, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string report_of(double bits_per_second) {
  const std::string sum =
      R"({"bits_per_second":)" + std::to_string(bits_per_second) + R"(,"seconds":1,"omitted":false})";
  return R"({"start":{"test_start":{"reverse":0}},"intervals":[{"sum":)" + sum +
         R"(},{"sum":{"bits_per_second":9e9,"seconds":0.001,"omitted":false}}],"end":{"sum_sent":)" + sum +
         R"(,"sum_received":)" + sum + "}}";
}

// Measures what its port is for.
void client(const ClientTest& test, StartLine& line, int output) {
  switch (test.port) {
    case 1:
      ::raise(SIGKILL);
      break;
    case 2:
      std::exit(0);
    case 3:
      std::exit(1);
    case 4:
      write_report(output, "0 0\nno report");
      break;
    case 5:
      for (;;)
        ::pause();
    case 6:
      ::kill(::getppid(), SIGTERM);
      for (;;)
        ::pause();
    case 7:
      line.wait(std::chrono::seconds(60));
      [[fallthrough]];
    default:
      write_report(output, client_output(0, 0, report_of(test.port)));
  }
}

MeasureReport run(const std::vector<int>& ports, int& signal) {
  MeasureOptions options;
  Plan plan;
  plan.placement.processors.resize(ports.size());
  for (const int port : ports) {
    ClientTest test;
    test.port = port;
    // The hanging test has a second, which the others can need.
    if (port == 5) test.connect_seconds = -6;
    plan.tests.push_back(test);
  }
  return run_plan(options, plan, client, signal);
}

MeasureReport run(const std::vector<int>& ports) {
  int signal = 0;
  MeasureReport report = run(ports, signal);
  EXPECT_EQ(signal, 0);
  return report;
}

std::string_view reason(const ProcessReport& process) {
  return process.failure ? to_string(process.failure->reason) : "none";
}

TEST(Measure, each_process_has_its_own_figures) {
  const MeasureReport report = run({100, 200, 300});
  ASSERT_EQ(report.processes.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(report.processes[i].measured);
    EXPECT_EQ(report.processes[i].measured->to_peer->received_bits_per_second,
              100.0 * static_cast<double>(i + 1));
  }
}

TEST(Measure, the_rest_at_the_end_of_a_test_is_not_a_sample) {
  EXPECT_EQ(run({100}).processes[0].measured->to_peer->samples.size(), 1U);
}

TEST(Measure, a_process_that_fails_does_so_alone_and_with_its_reason) {
  const MeasureReport report = run({100, 1, 2, 3, 4, 200});
  std::vector<std::string_view> reasons;
  for (const ProcessReport& process : report.processes)
    reasons.push_back(reason(process));
  EXPECT_THAT(reasons, testing::ElementsAre("none", "killed", "internal", "internal", "garbage", "none"));
  EXPECT_THAT(to_json(report), testing::HasSubstr(R"("directions":[],"processes")"));
}

TEST(Measure, all_begin_together_without_failed_processes) {
  const MeasureReport report = run({7, 2, 7});
  EXPECT_EQ(reason(report.processes[0]), "none");
  EXPECT_EQ(reason(report.processes[1]), "internal");
  EXPECT_EQ(reason(report.processes[2]), "none");
}

TEST(Measure, a_hanging_test_ends_at_its_deadline) {
  const MeasureReport report = run({5, 100});
  EXPECT_EQ(reason(report.processes[0]), "no_end");
  EXPECT_EQ(reason(report.processes[1]), "none");
}

TEST(Measure, a_signal_ends_it_and_keeps_the_measurements) {
  int signal = 0;
  const MeasureReport report = run({6}, signal);
  EXPECT_EQ(signal, SIGTERM);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(reason(report.processes[0]), "killed");
}

}  // namespace
}  // namespace autopilot::probes::net
