// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/pair_medium.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "nettest/run/bandwidth_observations.hpp"

namespace autopilot::nettest {
namespace {

constexpr std::size_t kStreams = 4;
// What one process, which is one thread of iperf3, moves by TCP on a processor that is nothing special: lines
// above 40 Gbit/s take several (canonical/pycloudlib 477).
constexpr std::size_t kOfProcess = 20'000'000'000;  // bits/s
// For the processors of a node that has more lines than this one, all of which are tested at once.
constexpr std::size_t kMostOfLine = 8;
constexpr std::string_view kNoRates =
    "the rate of too many lines is unknown, and network.most_percent allows only a share of it: "
    "there is no pair to test";

// A test of iperf3 gives a sample each second, and takes one path through the fabric for each pair, however
// long it lasts. TCP is less even than RDMA, and hosts have other work: a tenth less is not a fault.
constexpr PairSettings settings_of_tcp() {
  PairSettings settings;
  settings.least_loss = 0.1;
  settings.cross_flows = 1;
  settings.most_samples = 8;
  return settings;
}

// One queue pair, so one path through the fabric, and one sample in each direction.
constexpr PairSettings settings_of_rdma() {
  PairSettings settings = settings_of_tcp();
  settings.least_loss = 0.05;
  settings.is_back_by_other_means = true;
  return settings;
}

std::vector<Line> interfaces_of(const api::NodeNetwork& network) {
  std::vector<Line> lines;
  for (const api::NetworkAddress& one : api::lines_of(network.addresses))
    lines.push_back({one.interface, one.rate});
  return lines;
}

// Of a node without IPv4 none: perftest could not begin.
std::vector<Line> rdma_ports_of(const api::NodeNetwork& network) {
  std::vector<Line> lines;
  const auto is_ipv4 = [](const api::NetworkAddress& one) { return !api::is_ipv6(one.address); };
  if (std::ranges::none_of(network.addresses, is_ipv4)) return lines;
  for (const api::RdmaPort& one : network.rdma)
    lines.push_back({one.port, one.rate});
  return lines;
}

// Ports that have a GPU; of several with the same GPU the first, because a GPU is in one test at a time.
std::vector<Line> rdma_ports_with_gpu(const api::NodeNetwork& network) {
  api::NodeNetwork near = network;
  std::set<std::string> gpus;
  std::erase_if(near.rdma, [&gpus](const api::RdmaPort& one) {
    return one.gpu.empty() || !gpus.insert(one.gpu).second;
  });
  return rdma_ports_of(near);
}

// "gpus-8", "amd-gpus-8": those of two vendors do not sum up together.
std::vector<Line> gpus_of(const api::NodeNetwork& network) {
  if (network.gpus == 0) return {};
  const std::string vendor = network.gpu_vendor == api::GpuVendor::amd ? "amd-" : "";
  return {{vendor + "gpus-" + std::to_string(network.gpus), 0}};
}

using Addresses = std::vector<std::string>;

Addresses addresses_on(const PeerNetwork& network, const std::string& interface) {
  Addresses addresses;
  for (const api::NetworkAddress& one : network.network.addresses)
    if (one.interface == interface) addresses.push_back(one.address);
  return addresses;
}

// The first addresses that are of one family.
std::pair<std::string, std::string> of_one_family(const Addresses& sources, const Addresses& destinations) {
  for (const std::string& source : sources)
    for (const std::string& destination : destinations)
      if (api::is_ipv6(source) == api::is_ipv6(destination)) return {source, destination};
  return {sources.front(), destinations.front()};
}

// 0: not known.
std::size_t rate_of(const PeerNetwork& network, const std::string& interface) {
  for (const api::NetworkAddress& one : network.network.addresses)
    if (one.interface == interface) return one.rate;
  return 0;
}

std::size_t processes_for(std::size_t rate) {
  return std::clamp<std::size_t>((rate + kOfProcess - 1) / kOfProcess, 1, kMostOfLine);
}

Result<PairExchange::Wish> wish_by_tcp(const PeerNetwork& source, const std::string& source_line,
                                       const PeerNetwork& destination, const std::string& destination_line) {
  auto [from, to] =
      of_one_family(addresses_on(source, source_line), addresses_on(destination, destination_line));
  PairExchange::Wish wish;
  wish.source = {source.peer, std::move(from), {}};
  wish.destination = {destination.peer, std::move(to), {}};
  wish.processes = processes_for(rate_of(source, source_line));
  wish.streams = kStreams;
  return wish;
}

// The first of IPv4 on that interface; empty: it has none.
std::string ipv4_on(const PeerNetwork& network, const std::string& interface) {
  for (const api::NetworkAddress& one : network.network.addresses)
    if (one.interface == interface && !api::is_ipv6(one.address)) return one.address;
  return {};
}

// Of an interface that both have, which is in one network; else those at which the agents are asked.
Result<std::pair<std::string, std::string>> ipv4_of(const PeerNetwork& source,
                                                    const PeerNetwork& destination) {
  for (const api::NetworkAddress& one : source.network.addresses) {
    std::pair<std::string, std::string> both{ipv4_on(source, one.interface),
                                             ipv4_on(destination, one.interface)};
    if (!both.first.empty() && !both.second.empty()) return both;
  }
  if (!api::is_ipv6(source.peer.address) && !api::is_ipv6(destination.peer.address))
    return std::pair{source.peer.address, destination.peer.address};
  return fail(Errc::unavailable, source.peer.node + " and " + destination.peer.node +
                                     " have no addresses of IPv4 in one network, over which perftest begins");
}

Result<PairExchange::Wish> wish_by_rdma(const PeerNetwork& source, const std::string& source_line,
                                        const PeerNetwork& destination, const std::string& destination_line) {
  const auto [from, to] = TRY(ipv4_of(source, destination));
  PairExchange::Wish wish;
  wish.source = {source.peer, from, source_line};
  wish.destination = {destination.peer, to, destination_line};
  return wish;
}

Result<PairExchange::Wish> wish_by_rdma_of_gpus(const PeerNetwork& source, const std::string& source_line,
                                                const PeerNetwork& destination,
                                                const std::string& destination_line) {
  auto wish = TRY(wish_by_rdma(source, source_line, destination, destination_line));
  wish.memory = api::Memory::gpu;
  return wish;
}

// Without RDMA the data take this path, too: over the fastest interface that both nodes have, interfaces of
// known rate first; if they have none in common, over the addresses at which the agents are asked.
Result<PairExchange::Wish> wish_by_nccl(const PeerNetwork& source, const std::string&,
                                        const PeerNetwork& destination, const std::string&) {
  PairExchange::Wish wish;
  wish.source = {source.peer, source.peer.address};
  wish.destination = {destination.peer, destination.peer.address};
  wish.gpus = source.network.gpus;
  std::optional<std::size_t> fastest;
  for (const api::NetworkAddress& one : api::lines_of(source.network.addresses)) {
    const Addresses there = addresses_on(destination, one.interface);
    if (there.empty() || (fastest && one.rate <= *fastest)) continue;
    const auto [from, to] = of_one_family(addresses_on(source, one.interface), there);
    if (api::is_ipv6(from) != api::is_ipv6(to)) continue;
    wish.source.address = from;
    wish.destination.address = to;
    fastest = one.rate;
  }
  return wish;
}

}  // namespace

const PairMedium kByTcp{.check = kBandwidthCheck,
                        .line = "interface of the same name",
                        .lack = "it has no interface",
                        .no_share = kNoRates,
                        .settings = settings_of_tcp(),
                        .lines_of = interfaces_of,
                        .wish_of = wish_by_tcp};
const PairMedium kByRdma{.check = kRdmaBandwidthCheck,
                         .line = "RDMA port of the same name",
                         .lack = "it has no RDMA port that is active, or no address of IPv4",
                         .no_share = kNoRates,
                         .settings = settings_of_rdma(),
                         .lines_of = rdma_ports_of,
                         .wish_of = wish_by_rdma};
const PairMedium kByRdmaOfGpus{.check = kRdmaGpuCheck,
                               .line = "RDMA port of the same name with a GPU beside it",
                               .lack =
                                   "it has no RDMA port that is active with a GPU of NVIDIA below the same "
                                   "PCIe bridge, or no address of IPv4",
                               .no_share = kNoRates,
                               .settings = settings_of_rdma(),
                               .lines_of = rdma_ports_with_gpu,
                               .wish_of = wish_by_rdma_of_gpus};
const PairMedium kByNccl{.check = kNcclCheck,
                         .line = "equal number of GPUs of the same vendor",
                         .lack = "its agent reports no GPU of NVIDIA or AMD",
                         .no_share =
                             "an all-reduce takes whatever it finds, and network.most_percent allows a "
                             "share of each line: there is no pair to test",
                         .is_line_node = true,
                         .settings = settings_of_tcp(),
                         .lines_of = gpus_of,
                         .wish_of = wish_by_nccl};

}  // namespace autopilot::nettest
