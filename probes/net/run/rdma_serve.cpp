// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/rdma_serve.hpp"

#include <iostream>

#include "probes/net/processes/crew.hpp"
#include "probes/net/run/exit_code.hpp"
#include "probes/net/run/rdma_servers.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {
namespace {

std::vector<PerftestTest> tests_of(const RdmaServeOptions& options) {
  std::vector<PerftestTest> tests;
  for (const Tool tool : kTools)
    tests.push_back({.tool = tool,
                     .device = options.device,
                     .address = options.bind.text,
                     .seconds = options.test_seconds,
                     .queues = options.queues});
  return tests;
}

int refuse(RdmaServeReport report, const Error& error) {
  report.servers.assign(kTools.size(), {.port = 0, .failure = Failure{Reason::internal, error.what}});
  std::cout << to_json(report) << std::endl;
  return exit_not_looked;
}

}  // namespace

int rdma_serve(const RdmaServeOptions& options) {
  RdmaServeReport report{.began = std::chrono::system_clock::now(), .options = options, .servers = {}};
  const MonoTime end = mono_now() + std::chrono::seconds(options.seconds);
  const auto crew = Crew::create();
  if (!crew) return refuse(std::move(report), crew.error());
  RdmaServers servers(**crew, options.bind, tests_of(options), end);
  int signal = servers.settle();
  report.servers = servers.reports();
  if (signal == 0) {
    std::cout << to_json(report) << std::endl;
    signal = servers.follow();
  }
  (*crew)->end_all();
  if (signal != 0) return exit_signal + signal;
  return servers.has_failed() ? exit_not_looked : exit_done;
}

}  // namespace autopilot::probes::net
