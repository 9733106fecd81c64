// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/measure.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "probes/net/iperf/program.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::probes::net {
namespace {

Address address(std::string_view text) {
  return *parse_address(text);
}

class PlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    machine_.sysfs = folder_.path();
    machine_.processors = {0, 1, 2, 3, 4, 5};
    machine_.addresses = {
        {"ib0", address("10.0.0.1")}, {"ib0", address("2001:db8::1")}, {"ib1", address("10.0.1.1")}};
    machine_.source = address("10.0.1.1");
    const std::string device = machine_.sysfs + "/class/net/ib0/device";
    std::filesystem::create_directories(device);
    std::ofstream(device + "/numa_node") << "1\n";
    std::ofstream(device + "/local_cpulist") << "4-7\n";
    options_.to = address("10.0.0.2");
    options_.ports = {5201};
  }

  Plan plan() {
    const auto made = plan_of(options_, machine_);
    EXPECT_TRUE(std::holds_alternative<Plan>(made));
    return std::holds_alternative<Plan>(made) ? std::get<Plan>(made) : Plan{};
  }
  Reason reason() {
    const auto made = plan_of(options_, machine_);
    EXPECT_TRUE(std::holds_alternative<Failure>(made));
    return std::holds_alternative<Failure>(made) ? std::get<Failure>(made).reason : Reason::internal;
  }

  const host::TestFolder folder_;
  Machine machine_;
  MeasureOptions options_;
};

TEST_F(PlacementTest, each_process_has_the_next_port) {
  options_.processes = 3;
  const auto tests = plan().tests;
  ASSERT_EQ(tests.size(), 3U);
  EXPECT_EQ(tests[0].port, 5201);
  EXPECT_EQ(tests[2].port, 5203);
  options_.ports = {7000, 7005, 7003};
  EXPECT_EQ(plan().tests[1].port, 7005);
}

TEST_F(PlacementTest, a_limit_is_of_all_streams_together) {
  options_.processes = 4;
  options_.streams = 5;
  options_.bits_per_second = 10'000'000'000;
  EXPECT_EQ(plan().tests[0].stream_bits_per_second, 500'000'000U);
}

TEST_F(PlacementTest, without_a_choice_the_kernel_chooses) {
  const Plan made = plan();
  EXPECT_EQ(made.address, "10.0.1.1");
  EXPECT_EQ(made.interface, "ib1");
  EXPECT_FALSE(made.tests[0].source);
  EXPECT_FALSE(made.tests[0].interface);
}

TEST_F(PlacementTest, a_named_interface_is_the_only_path) {
  options_.interface = "ib0";
  EXPECT_EQ(plan().tests[0].interface, "ib0");
  EXPECT_EQ(plan().tests[0].source, "10.0.0.1");
  options_.to = address("2001:db8::2");
  EXPECT_EQ(plan().tests[0].source, "2001:db8::1");
}

TEST_F(PlacementTest, addresses_of_other_machines_are_refused) {
  options_.interface = "ib7";
  EXPECT_EQ(reason(), Reason::no_address);
  options_.interface.reset();
  options_.bind = address("10.0.0.9");
  EXPECT_EQ(reason(), Reason::no_address);
}

TEST_F(PlacementTest, processes_run_near_the_adapter_if_allowed) {
  options_.interface = "ib0";
  options_.processes = 2;
  options_.pinning.is_near_interface = true;
  EXPECT_EQ(plan().placement.numa_node, 1);
  EXPECT_EQ(plan().placement.processors, (std::vector<std::vector<int>>{{4, 5}, {4, 5}}));
  machine_.processors = {0, 1};
  EXPECT_EQ(plan().placement.processors, (std::vector<std::vector<int>>{{}, {}}));
  options_.interface.reset();
  EXPECT_EQ(plan().placement.numa_node, std::nullopt);
}

TEST_F(PlacementTest, named_processors_are_used_in_turn) {
  options_.processes = 3;
  options_.pinning.processors = {2, 4};
  EXPECT_EQ(plan().placement.processors, (std::vector<std::vector<int>>{{2}, {4}, {2}}));
  options_.pinning.processors = {2, 9};
  EXPECT_EQ(reason(), Reason::denied);
}

TEST_F(PlacementTest, a_report_of_the_peer_that_would_be_too_long_is_not_requested) {
  EXPECT_TRUE(plan().tests[0].wants_peer_report);
  options_.streams = 100;
  options_.seconds = 51;
  EXPECT_FALSE(plan().tests[0].wants_peer_report);
}

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
