// SPDX-License-Identifier: Apache-2.0
#include "api/network.hpp"

#include <algorithm>

#include "api/wire.hpp"
#include "core/word_table.hpp"

namespace autopilot::api {
namespace {

NetworkAddress read_address(const JsonObject& object) {
  NetworkAddress address{object.word("interface"), object.word("address")};
  if (object.has("mtu")) address.mtu = object.count("mtu");
  if (object.has("bitsPerSecond")) address.rate = object.count("bitsPerSecond");
  return address;
}

RdmaPort read_rdma_port(const JsonObject& object) {
  return {object.word("port"), object.has("bitsPerSecond") ? object.count("bitsPerSecond") : 0,
          object.word_or_empty("interface"), object.word_or_empty("gpu")};
}

constexpr WordTable<GpuVendor, 2> kGpuVendors{{
    {GpuVendor::nvidia, "nvidia"},
    {GpuVendor::amd, "amd"},
}};

NodeNetwork read_network(const JsonObject& object) {
  NodeNetwork network{object.word("node"), object.word_or_empty("pod"),
                      object.list("addresses", read_address), object.word_or_empty("leaf")};
  if (object.has("rdma")) network.rdma = object.list("rdma", read_rdma_port);
  if (object.has("gpus")) network.gpus = object.count("gpus");
  if (object.has("gpuVendor")) {
    // A newer agent can have other vendors. Its node is still reachable.
    const auto vendor = value_of(kGpuVendors, object.word("gpuVendor"));
    network.gpu_vendor = vendor.value_or(GpuVendor::nvidia);
    if (!vendor) network.gpus = 0;
  }
  return network;
}

void write_rdma(JsonWriter& out, const std::vector<RdmaPort>& ports) {
  if (ports.empty()) return;
  out.begin_list("rdma");
  for (const RdmaPort& port : ports) {
    out.begin_object();
    out.word("port", port.port);
    if (port.rate > 0) out.count("bitsPerSecond", port.rate);
    out.word_if_any("interface", port.interface);
    out.word_if_any("gpu", port.gpu);
    out.end_object();
  }
  out.end_list();
}

}  // namespace

std::vector<NetworkAddress> lines_of(const std::vector<NetworkAddress>& addresses) {
  std::vector<NetworkAddress> lines;
  for (const NetworkAddress& one : addresses)
    if (std::ranges::find(lines, one.interface, &NetworkAddress::interface) == lines.end())
      lines.push_back(one);
  return lines;
}

std::string to_json(const NodeNetwork& network) {
  JsonWriter out;
  out.begin_object();
  out.word("node", network.node);
  out.word_if_any("pod", network.pod);
  out.begin_list("addresses");
  for (const NetworkAddress& address : network.addresses) {
    out.begin_object();
    out.word("interface", address.interface);
    out.word("address", address.address);
    if (address.mtu > 0) out.count("mtu", address.mtu);
    if (address.rate > 0) out.count("bitsPerSecond", address.rate);
    out.end_object();
  }
  out.end_list();
  out.word_if_any("leaf", network.leaf);
  write_rdma(out, network.rdma);
  if (network.gpus > 0) {
    out.count("gpus", network.gpus);
    out.word("gpuVendor", word_of(kGpuVendors, network.gpu_vendor));
  }
  out.end_object();
  return out.take();
}

Result<NodeNetwork> parse_node_network(std::string_view json) {
  auto network = TRY(read_text(json, read_network));
  if (network.addresses.size() > NodeNetwork::kMostAddresses)
    return fail(Errc::malformed, "addresses: at most " + std::to_string(NodeNetwork::kMostAddresses));
  if (network.rdma.size() > NodeNetwork::kMostRdmaPorts)
    return fail(Errc::malformed, "rdma: at most " + std::to_string(NodeNetwork::kMostRdmaPorts));
  if (network.gpus > NodeNetwork::kMostGpus)
    return fail(Errc::malformed, "gpus: at most " + std::to_string(NodeNetwork::kMostGpus));
  return network;
}

}  // namespace autopilot::api
