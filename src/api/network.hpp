// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// GET /v1/network of an agent: the addresses of its node. Pure.
namespace autopilot::api {

inline constexpr const char* kNetworkPath = "/v1/network";

struct NetworkAddress {
  std::string interface;  // of the node or of the agent's pod: "eth0", "net1-0"
  std::string address;    // IP
  std::size_t mtu = 0;    // bytes of an IP packet; 0: unknown
  std::size_t rate = 0;   // line rate, bits/s; 0: unknown

  friend bool operator==(const NetworkAddress&, const NetworkAddress&) = default;
};

// An active port of an RDMA device.
struct RdmaPort {
  std::string port;            // "mlx5_0/1"
  std::size_t rate = 0;        // line rate, bits/s; 0: unknown
  std::string interface = {};  // interface of the same port: "ib0"; empty: none or unknown
  std::string gpu = {};        // PCI address of the nearest NVIDIA GPU; empty: no GPU is near

  friend bool operator==(const RdmaPort&, const RdmaPort&) = default;
};

// address: an IP address.
[[nodiscard]] inline bool is_ipv6(std::string_view address) {
  return address.find(':') != std::string_view::npos;
}
// The first address of each interface; further addresses use the same port.
[[nodiscard]] std::vector<NetworkAddress> lines_of(const std::vector<NetworkAddress>& addresses);

// Vendor of the GPUs; agents that do not send it have NVIDIA GPUs.
enum class GpuVendor : std::uint8_t { nvidia, amd };

struct NodeNetwork {
  static constexpr std::size_t kMostAddresses = 64;
  static constexpr std::size_t kMostRdmaPorts = 64;
  static constexpr std::size_t kMostGpus = 64;

  std::string node;
  std::string pod;  // of the agent; empty: the agent does not run in a pod
  std::vector<NetworkAddress> addresses;
  std::string leaf = {};  // switch of the node; empty: unknown
  std::vector<RdmaPort> rdma = {};
  std::size_t gpus = 0;  // of one vendor, with or without a driver
  GpuVendor gpu_vendor = GpuVendor::nvidia;

  friend bool operator==(const NodeNetwork&, const NodeNetwork&) = default;
};
[[nodiscard]] std::string to_json(const NodeNetwork& network);
// malformed: a member is missing, or there are more than kMostAddresses, kMostRdmaPorts or kMostGpus. GPUs of
// an unknown vendor are not counted.
[[nodiscard]] Result<NodeNetwork> parse_node_network(std::string_view json);

}  // namespace autopilot::api
