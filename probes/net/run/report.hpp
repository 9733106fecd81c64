// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "probes/net/iperf/result.hpp"
#include "probes/net/perftest/perftest.hpp"
#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {

// Result of one client process.
struct ProcessReport {
  int port = 0;
  std::vector<int> processors;  // its allowed processors
  std::optional<IperfResult> measured;
  std::optional<Failure> failure;  // why it measured nothing
};

struct MeasureReport {
  WallTime began{};
  MeasureOptions options;
  std::string address;             // local; empty if the kernel selected it and it is unknown
  std::string interface;           // empty: unknown
  std::optional<int> numa_node{};  // of its adapter
  std::vector<ProcessReport> processes;
  std::optional<Failure> failure{};  // why no process was started
  bool stopped = false;              // by a signal, before the end
};

// A server.
struct ServerReport {
  int port = 0;  // 0: none was found
  std::optional<Failure> failure;
};

struct ServeReport {
  WallTime began{};
  ServeOptions options;
  std::optional<int> numa_node{};
  std::vector<ServerReport> servers;
};

struct RdmaMeasureReport {
  WallTime began{};
  RdmaMeasureOptions options;
  std::optional<double> to_peer{};  // bits per second
  std::optional<double> from_peer{};
  std::optional<PerftestLatency> latency{};
  std::optional<Failure> failure{};  // of the first failed test; later tests did not run
  bool stopped = false;              // by a signal, before the end
};

struct RdmaServeReport {
  WallTime began{};
  RdmaServeOptions options;
  std::vector<ServerReport> servers;
};

// One line of JSON each; see docs/net-probe.md.
[[nodiscard]] std::string to_json(const MeasureReport& report);
[[nodiscard]] std::string to_json(const ServeReport& report);
[[nodiscard]] std::string to_json(const RdmaMeasureReport& report);
[[nodiscard]] std::string to_json(const RdmaServeReport& report);
// For a report that was not stopped.
[[nodiscard]] int exit_code_of(const MeasureReport& report);

// Sum of tests that ran at the same time in the same direction: rates and retransmits. nullopt if one of them
// was not measured, because the sum would be incomplete; retransmits are missing if one side does not report
// them. Sample k is the sum of all samples k, as many as all tests have.
[[nodiscard]] std::optional<Direction> sum_of(std::span<const std::optional<Direction>> directions);

// Drops samples shorter than half of the requested duration: a test can end with a rest of some milliseconds.
[[nodiscard]] std::vector<Sample> whole_samples(const std::vector<Sample>& samples, double sample_seconds);

}  // namespace autopilot::probes::net
