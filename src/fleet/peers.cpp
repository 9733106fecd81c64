// SPDX-License-Identifier: Apache-2.0
#include "fleet/peers.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "net/url.hpp"

namespace autopilot::fleet {
namespace {

bool serves_tls(const kube::Endpoint& endpoint) {
  return std::ranges::find(endpoint.ports, kTlsPort) != endpoint.ports.end();
}

}  // namespace

std::vector<Peer> peers_of(const std::vector<kube::Endpoint>& endpoints, const Peer& self) {
  std::map<std::string, const kube::Endpoint*> of_node;
  for (const kube::Endpoint& endpoint : endpoints) {
    if (endpoint.node.empty()) continue;
    const kube::Endpoint*& known = of_node[endpoint.node];
    if (known == nullptr || (endpoint.is_ready && !known->is_ready)) known = &endpoint;
  }
  of_node.try_emplace(self.node, nullptr);
  // A Service that a user wrote may have no such port at all.
  const bool is_port_known = self.is_encrypted && std::ranges::any_of(endpoints, serves_tls);
  std::vector<Peer> peers;
  for (const auto& [node, endpoint] : of_node) {
    Peer peer = self;
    if (endpoint != nullptr) {
      peer.node = node;
      peer.address = endpoint->address;
      peer.lacks_tls = is_port_known && !serves_tls(*endpoint);
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

Result<std::vector<Peer>> parse_peers(const std::vector<std::string>& texts) {
  std::vector<Peer> peers;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto address =
        equals == std::string::npos ? fail(Errc::malformed, "") : net::parse_ip_port(text.substr(equals + 1));
    if (!address || address->address.empty() || address->port == 0)
      return fail(Errc::malformed, "peers: '" + text + "': expected <node>=<address>:<port>");
    Peer peer{text.substr(0, equals), address->address, address->port};
    if (has_node(peers, {peer.node}))
      return fail(Errc::malformed, "peers: '" + text + "': the node was named before");
    peers.push_back(std::move(peer));
  }
  return peers;
}

std::vector<Peer> with_self(std::vector<Peer> peers, const Peer& self) {
  for (Peer& peer : peers)
    peer.is_encrypted = self.is_encrypted;
  std::erase_if(peers, [&self](const Peer& peer) { return peer.node == self.node; });
  peers.push_back(self);
  std::ranges::sort(peers, {}, &Peer::node);
  return peers;
}

Status check_nodes(const std::vector<Subject>& wanted) {
  const auto is_node = [](const Subject& one) { return one.kind == SubjectKind::peer; };
  if (std::ranges::all_of(wanted, is_node)) return {};
  return fail(Errc::malformed, "reservation: this tests nodes: peer/<name of a node>");
}

Result<std::vector<Peer>> peers_on(const std::vector<Peer>& peers, const std::vector<Subject>& wanted) {
  if (wanted.empty()) return peers;
  std::vector<Peer> found;
  for (const Subject& node : wanted) {
    if (std::ranges::find(found, node.key, &Peer::node) != found.end()) continue;
    const auto peer = std::ranges::find(peers, node.key, &Peer::node);
    if (peer == peers.end()) return fail(Errc::not_found, "no agent is known on a node " + node.key);
    found.push_back(*peer);
  }
  return found;
}

bool has_node(const std::vector<Peer>& peers, const std::vector<std::string>& names) {
  return std::ranges::any_of(
      peers, [&names](const Peer& peer) { return std::ranges::find(names, peer.node) != names.end(); });
}

Status check_agent(const Result<std::vector<Peer>>& peers, const std::vector<std::string>& names) {
  if (!peers) return fail(Errc::unavailable, "which nodes have an agent is not known: " + peers.error().what);
  if (has_node(*peers, names)) return {};
  return fail(Errc::denied, "this certificate names no node that has an agent");
}

}  // namespace autopilot::fleet
