// SPDX-License-Identifier: Apache-2.0
#include "fleet/http_door.hpp"

#include "catalog/catalog.hpp"
#include "fleet/peers.hpp"
#include "net/url.hpp"

namespace autopilot::fleet {

HttpDoor::HttpDoor(const Parts& parts, const config::Config& config)
    : parts_(parts),
      operations_(parts.machine.host->clock, parts.machine.boot_id, parts.machine.simulated, {}, {},
                  parts.poll_soon),
      tests_(
          parts.loop, parts.machine.host->clock, operations_, parts.runtime, [] {}, parts.poll_soon),
      routes_(context(config)),
      server_(parts.loop, {}) {
  routes_.add_to(server_);
}

compat::ibm_autopilot::IbmContext HttpDoor::context(const config::Config& config) {
  const compat::ibm_autopilot::LookContext look{parts_.runtime, parts_.machine.host->clock, parts_.loop,
                                                parts_.poll_soon};
  compat::ibm_autopilot::NodeFinder finder;
  finder.labeled = [this](const std::string& selector,
                          compat::ibm_autopilot::SelectedNodes::OnNames on_names) {
    parts_.cluster.selected_nodes().labeled(selector, std::move(on_names));
  };
  const double limit = parts_.machine.facts->threshold("gpu.pcie_bandwidth.host_to_device")->value;
  return {{look, tests_},
          parts_.machine.node,
          config.periodic_checks,
          [limit] { return limit; },
          [this](const auto& done) { list_agents(done); },
          [] { return nullptr; },
          std::move(finder),
          config.kubernetes.label_prefix,
          config.deep_test.level,
          false};
}

void HttpDoor::list_agents(const std::function<void(const Result<std::vector<Peer>>& peers)>& done) {
  parts_.cluster.list_agents([this, done](const auto& endpoints) {
    if (!endpoints) return done(fail(endpoints.error()));
    done(peers_of(*endpoints, self_));
  });
}

Status HttpDoor::listen(const std::string& address) {
  const std::uint16_t port = TRY(server_.listen_tcp(address));
  const net::IpPort own = TRY(net::parse_ip_port(address));
  self_ = {parts_.machine.node, own.address, port};
  return {};
}

}  // namespace autopilot::fleet
