// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "probes/net/iperf/result.hpp"
#include "probes/net/machine/interfaces.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {

// Properties of this machine that affect the placement of a test.
struct Machine {
  std::vector<InterfaceAddress> addresses;
  std::optional<Address> source{};  // selected by the kernel for the route to the peer
  std::vector<int> processors;      // allowed for this process
  std::string sysfs = "/sys";
};

[[nodiscard]] Result<Machine> read_machine(const std::optional<Address>& peer);

// Placement of the processes.
struct Placement {
  std::optional<int> numa_node{};            // of the interface's adapter; set only if requested
  std::vector<std::vector<int>> processors;  // of each process; empty: anywhere
};

// denied: this process is not allowed to use a given processor. If the location of the interface is unknown,
// or no local processor is allowed, the processes run anywhere.
[[nodiscard]] std::variant<Placement, Failure> place(const Pinning& pinning, int processes,
                                                     const std::string& interface, const Machine& machine);

// Why a test between these addresses would not use the interface of the first: the second address is in its
// subnet, but the kernel sends to it over another interface, as with two interfaces in one subnet. nullopt:
// it would use it, or this is unknown.
[[nodiscard]] std::optional<Failure> why_not_over_own(const Address& from, const Address& to,
                                                      const Machine& machine);

// Parts of a measurement.
struct Plan {
  std::string address;    // local; empty: the kernel selects it
  std::string interface;  // empty: unknown
  Placement placement;
  std::vector<ClientTest> tests;  // of each process
};

// no_address: the given address or interface is not of this machine. no_route: the kernel uses another
// interface.
[[nodiscard]] std::variant<Plan, Failure> plan_of(const MeasureOptions& options, const Machine& machine);

// Runs one test and writes client_output(); called in a child process, where it can crash, hang and exit. It
// waits at the start line for the others, because rates that were not measured at the same time cannot be
// added.
using Client = std::function<void(const ClientTest&, StartLine&, int output)>;

// Runs all processes of a plan at once, each killed at its deadline. Blocks SIGTERM, SIGINT and SIGHUP; one
// of them ends the measurement and is stored in `signal`. No child outlives the call.
[[nodiscard]] MeasureReport run_plan(const MeasureOptions& options, const Plan& plan, const Client& client,
                                     int& signal);

// The whole program after option parsing: tests, JSON on standard output, exit code.
[[nodiscard]] int measure(const MeasureOptions& options, const Client& client);

}  // namespace autopilot::probes::net
