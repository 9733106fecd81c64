// SPDX-License-Identifier: Apache-2.0
#include "agent/compat/peers.hpp"

#include <algorithm>
#include <map>

namespace autopilot::agent {

std::vector<Peer> peers_of(const std::vector<kube::Endpoint>& endpoints, const Peer& self) {
  std::map<std::string, const kube::Endpoint*> of_node;
  for (const kube::Endpoint& endpoint : endpoints) {
    if (endpoint.node.empty()) continue;
    const kube::Endpoint*& known = of_node[endpoint.node];
    if (known == nullptr || (endpoint.is_ready && !known->is_ready)) known = &endpoint;
  }
  of_node.try_emplace(self.node, nullptr);
  std::vector<Peer> peers;
  for (const auto& [node, endpoint] : of_node)
    peers.push_back(endpoint == nullptr ? self : Peer{node, endpoint->address, self.port, self.is_encrypted});
  return peers;
}

bool has_node(const std::vector<Peer>& peers, const std::vector<std::string>& names) {
  return std::ranges::any_of(
      peers, [&names](const Peer& peer) { return std::ranges::find(names, peer.node) != names.end(); });
}

}  // namespace autopilot::agent
