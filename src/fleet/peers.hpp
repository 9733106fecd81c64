// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/subject.hpp"
#include "kube/objects.hpp"

namespace autopilot::fleet {

// The agent of one node.
struct Peer {
  std::string node;
  std::string address;  // IP
  std::uint16_t port = 0;
  bool is_encrypted = false;  // it is asked inside TLS
  bool lacks_tls = false;     // or would be: it does not listen there, and is not asked in the clear instead

  friend bool operator==(const Peer&, const Peer&) = default;
};

// As the Service names the port where agents speak TLS.
inline constexpr const char* kTlsPort = "tls";

// One for each node, in order of their names: where an agent is being replaced the ready agent. Agents
// that are not ready are included, and so is `self` when it is not listed yet. All listen as `self` does,
// except agents without TLS: other agents serve the Service's port for TLS, and these do not.
[[nodiscard]] std::vector<Peer> peers_of(const std::vector<kube::Endpoint>& endpoints, const Peer& self);

// "node-b=10.0.0.2:3333", as the configuration has them. malformed: no address of IP and port, or a node of
// which another one was named before.
[[nodiscard]] Result<std::vector<Peer>> parse_peers(const std::vector<std::string>& texts);
// In order of their names; this one speaks for its own node, and all listen as it does.
[[nodiscard]] std::vector<Peer> with_self(std::vector<Peer> peers, const Peer& self);

// What the caller wants to have tested: nodes ("peer/gpu-7"), or nothing, which is all. malformed: something
// else.
[[nodiscard]] Status check_nodes(const std::vector<Subject>& wanted);
// Those of them. not_found: a node that has no agent.
[[nodiscard]] Result<std::vector<Peer>> peers_on(const std::vector<Peer>& peers,
                                                 const std::vector<Subject>& wanted);

// Whether one of them is on a node of one of these names.
[[nodiscard]] bool has_node(const std::vector<Peer>& peers, const std::vector<std::string>& names);

// Whether a caller with these names in its certificate is one of these agents. denied: it is not.
// unavailable: which agents there are is not known.
[[nodiscard]] Status check_agent(const Result<std::vector<Peer>>& peers,
                                 const std::vector<std::string>& names);

}  // namespace autopilot::fleet
