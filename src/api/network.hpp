// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// GET /v1/network of an agent: at which addresses its node can be reached. Pure.
namespace autopilot::api {

inline constexpr const char* kNetworkPath = "/v1/network";

struct NetworkAddress {
  std::string interface;  // of the node or of the agent's pod: "eth0", "net1-0"
  std::string address;    // IP
  std::size_t mtu = 0;    // bytes of a packet of IP; 0: not known
  std::size_t rate = 0;   // of its line, bits/s; 0: not known

  friend bool operator==(const NetworkAddress&, const NetworkAddress&) = default;
};

// A port of an RDMA device that is active.
struct RdmaPort {
  std::string port;            // "mlx5_0/1"
  std::size_t rate = 0;        // of its line, bits/s; 0: not known
  std::string interface = {};  // of the same line: "ib0"; empty: none, or not known
  std::string gpu = {};        // of NVIDIA that is nearest to it, by PCI address; empty: none is near

  friend bool operator==(const RdmaPort&, const RdmaPort&) = default;
};

// address: of IP.
[[nodiscard]] inline bool is_ipv6(std::string_view address) {
  return address.find(':') != std::string_view::npos;
}
// Of each interface its first address; its others are of the same line.
[[nodiscard]] std::vector<NetworkAddress> lines_of(const std::vector<NetworkAddress>& addresses);

// Whose GPUs; agents that do not say it mean NVIDIA's.
enum class GpuVendor : std::uint8_t { nvidia, amd };

struct NodeNetwork {
  static constexpr std::size_t kMostAddresses = 64;
  static constexpr std::size_t kMostRdmaPorts = 64;
  static constexpr std::size_t kMostGpus = 64;

  std::string node;
  std::string pod;  // of the agent; empty: it is in none
  std::vector<NetworkAddress> addresses;
  std::string leaf = {};  // the switch that the node is plugged into; empty: not known
  std::vector<RdmaPort> rdma = {};
  std::size_t gpus = 0;  // of one vendor, with or without a driver
  GpuVendor gpu_vendor = GpuVendor::nvidia;

  friend bool operator==(const NodeNetwork&, const NodeNetwork&) = default;
};
[[nodiscard]] std::string to_json(const NodeNetwork& network);
// malformed: something is missing, or there are more than kMostAddresses, kMostRdmaPorts or kMostGpus.
// GPUs of a vendor that is not known are none.
[[nodiscard]] Result<NodeNetwork> parse_node_network(std::string_view json);

}  // namespace autopilot::api
