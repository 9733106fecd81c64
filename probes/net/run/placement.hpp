// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "probes/net/iperf/reason.hpp"
#include "probes/net/machine/interfaces.hpp"
#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {

// What this machine is, as far as it matters for where a test runs.
struct Machine {
  std::vector<InterfaceAddress> addresses;
  std::optional<Address> source{};  // that the kernel would take on the way to the peer
  std::vector<int> processors;      // that this process may run on
  std::string sysfs = "/sys";
};

[[nodiscard]] Result<Machine> read_machine(const std::optional<Address>& peer);

// Where processes run.
struct Placement {
  std::optional<int> numa_node{};            // of the interface's adapter; only where it was asked for
  std::vector<std::vector<int>> processors;  // of each process; empty: anywhere
};

// denied: a processor that was named is none for this process. Where the kernel does not tell what is near
// the interface, or nothing near is for this process, everything runs anywhere.
[[nodiscard]] std::variant<Placement, Failure> place(const Pinning& pinning, int processes,
                                                     const std::string& interface, const Machine& machine);

// Why a test between these would not go over the interface of the first: it has the other one for a
// neighbour, and the kernel sends to it by another interface, as where two have addresses of one subnet.
// Nothing: it would, or nobody knows.
[[nodiscard]] std::optional<Failure> why_not_over_own(const Address& from, const Address& to,
                                                      const Machine& machine);

// What a measurement is made of.
struct Plan {
  std::string address;    // of this end; empty: the kernel has to choose
  std::string interface;  // empty: not known
  Placement placement;
  std::vector<ClientTest> tests;  // of each process
};

// no_address: what was to be used is not of this machine. no_route: the kernel uses another interface.
[[nodiscard]] std::variant<Plan, Failure> plan_of(const MeasureOptions& options, const Machine& machine);

}  // namespace autopilot::probes::net
