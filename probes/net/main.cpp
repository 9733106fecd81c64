// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>

#include "probes/net/libiperf/libiperf.hpp"
#include "probes/net/run/measure.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/rdma.hpp"
#include "probes/net/run/serve.hpp"

namespace {

using namespace autopilot::probes::net;

int run(const Options& options) {
  if (const auto* serving = std::get_if<ServeOptions>(&options)) return serve(*serving, run_server);
  if (const auto* measuring = std::get_if<MeasureOptions>(&options)) return measure(*measuring, run_client);
  if (const auto* serving = std::get_if<RdmaServeOptions>(&options)) return rdma_serve(*serving);
  if (const auto* measuring = std::get_if<RdmaMeasureOptions>(&options)) return rdma_measure(*measuring);
  return rdma_loopback(std::get<RdmaLoopbackOptions>(options));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto parsed = parse_options(argc, argv);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    const int code = run(std::get<Options>(parsed));
    if (std::cout.flush()) return code;
    std::cerr << "autopilot-net-probe: the report could not be written\n";
    return code == exit_done ? exit_not_measured : code;
  } catch (const std::exception& error) {
    std::cerr << "autopilot-net-probe: internal error: " << error.what() << "\n";
    return exit_internal;
  }
}
