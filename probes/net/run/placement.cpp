// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/placement.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "probes/net/machine/interfaces.hpp"

namespace autopilot::probes::net {
namespace {

// Limit of lines, one for each stream and second, in the peer's own report.
constexpr int kMostPeerLines = 5000;

bool contains(const std::vector<int>& list, int number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

std::variant<Plan, Failure> path_of(const MeasureOptions& options, const Machine& machine) {
  Plan plan;
  if (options.interface) {
    plan.interface = *options.interface;
    const auto source = address_on(machine.addresses, plan.interface, options.to);
    if (!source)
      return Failure{Reason::no_address, to_printable(plan.interface, 40) +
                                             ": no interface with an address from which " + options.to.text +
                                             " can be reached"};
    plan.address = source->text;
    return plan;
  }
  const std::optional<Address>& source = options.bind ? options.bind : machine.source;
  if (!source) return plan;
  plan.address = source->text;
  const auto interface = interface_of(machine.addresses, *source);
  if (!interface && options.bind)
    return Failure{Reason::no_address, source->text + ": not an address of this machine"};
  plan.interface = interface.value_or("");
  if (options.bind)
    if (auto failure = why_not_over_own(*options.bind, options.to, machine)) return *std::move(failure);
  return plan;
}

ClientTest test_of(const MeasureOptions& options, const Plan& plan, std::size_t index) {
  ClientTest test;
  test.to = options.to.text;
  test.port = options.ports.size() > 1 ? options.ports[index] : options.ports[0] + static_cast<int>(index);
  if (options.bind || options.interface) test.source = plan.address;
  test.interface = options.interface;
  test.streams = options.streams;
  test.seconds = options.seconds;
  test.omit_seconds = options.omit_seconds;
  test.sample_seconds = static_cast<double>(options.seconds) / options.samples;
  test.flow = options.flow;
  const int directions = options.flow == Flow::both ? 2 : 1;
  test.wants_peer_report =
      options.streams * directions * (options.seconds + options.omit_seconds) <= kMostPeerLines;
  if (options.bits_per_second)
    test.stream_bits_per_second =
        *options.bits_per_second / static_cast<std::uint64_t>(options.streams * options.processes);
  return test;
}

}  // namespace

Result<Machine> read_machine(const std::optional<Address>& peer) {
  Machine machine;
  machine.addresses = TRY(read_interface_addresses());
  machine.processors = read_allowed_processors();
  if (!peer) return machine;
  // Without a route, libiperf reports the error.
  if (auto source = read_source_towards(*peer)) machine.source = std::move(*source);
  return machine;
}

std::optional<Failure> why_not_over_own(const Address& from, const Address& to, const Machine& machine) {
  if (interface_of(machine.addresses, to)) return std::nullopt;
  for (const InterfaceAddress& own : machine.addresses) {
    if (!is_same_address(own.address, from) || !is_neighbour(own, to)) continue;
    const auto used = interface_towards(from, to);
    if (!used || *used == own.interface) return std::nullopt;
    return Failure{Reason::no_route, "from " + from.text + " of " + own.interface + " the kernel sends to " +
                                         to.text + " by " + *used +
                                         ": both are in the same subnet, and no routing rule selects one"};
  }
  return std::nullopt;
}

std::variant<Placement, Failure> place(const Pinning& pinning, int processes, const std::string& interface,
                                       const Machine& machine) {
  Placement placement;
  placement.processors.resize(static_cast<std::size_t>(processes));
  for (std::size_t i = 0; i < placement.processors.size() && !pinning.processors.empty(); ++i) {
    const int processor = pinning.processors[i % pinning.processors.size()];
    if (!contains(machine.processors, processor))
      return Failure{Reason::denied,
                     "processor " + std::to_string(processor) + ": this process is not allowed to run on it"};
    placement.processors[i] = {processor};
  }
  if (!pinning.is_near_interface) return placement;
  const auto near = read_locality(interface, machine.sysfs);
  if (!near) return placement;
  placement.numa_node = near->numa_node;
  std::vector<int> usable;
  std::copy_if(near->processors.begin(), near->processors.end(), std::back_inserter(usable),
               [&](int processor) { return contains(machine.processors, processor); });
  std::fill(placement.processors.begin(), placement.processors.end(), usable);
  return placement;
}

std::variant<Plan, Failure> plan_of(const MeasureOptions& options, const Machine& machine) {
  auto path = path_of(options, machine);
  if (std::holds_alternative<Failure>(path)) return path;
  Plan plan = std::get<Plan>(std::move(path));
  auto placed = place(options.pinning, options.processes, plan.interface, machine);
  if (Failure* failure = std::get_if<Failure>(&placed)) return std::move(*failure);
  plan.placement = std::get<Placement>(std::move(placed));
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.processes); ++i)
    plan.tests.push_back(test_of(options, plan, i));
  return plan;
}

}  // namespace autopilot::probes::net
