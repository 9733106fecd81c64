// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace network_reachability {
namespace {

constexpr std::string_view kRoutes = "/proc/net/route";
constexpr std::string_view kNeighbours = "/proc/net/arp";
constexpr std::string_view kResolvConf = "/etc/resolv.conf";

constexpr std::string_view kDefaultRoutes = "routes.default";
constexpr std::string_view kMostDefaultRoutes = "routes.default.largest";
// About a gateway or resolver: whether it answered the kernel's request for its hardware address; missing if
// the kernel sent none.
constexpr std::string_view kGateway = "gateway.answers";
constexpr std::string_view kResolver = "resolver.answers";
// A machine has only a few.
constexpr std::size_t kMaxPeers = 16;

Subject peer(const std::string& address) {
  return make_subject(SubjectKind::peer, address);
}

class Neighbours {
 public:
  Neighbours(const std::vector<host::Neighbour>& neighbours, ObservationBuilder& seen)
      : neighbours_(neighbours), seen_(seen) {}

  void add(std::string_view name, const std::string& address, const std::string& interface) {
    if (added_ == kMaxPeers) return;
    const auto found = std::ranges::find_if(neighbours_, [&](const host::Neighbour& neighbour) {
      return neighbour.address == address && (interface.empty() || neighbour.interface == interface);
    });
    if (found == neighbours_.end()) return;
    ++added_;
    seen_.add(peer(address), name, kNeighbours, found->has_answered).attributes = {
        {"interface", found->interface}};
  }

 private:
  const std::vector<host::Neighbour>& neighbours_;
  ObservationBuilder& seen_;
  std::size_t added_ = 0;
};

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto routes = TRY(host::read_default_routes(host.files));
  const auto neighbours = TRY(host::read_neighbours(host.files));
  Observed observed;
  observed.witnesses = {std::string(kRoutes), std::string(kNeighbours)};
  ObservationBuilder seen(request.now);
  seen.add_count(host_subject(), kDefaultRoutes, kRoutes, routes.size());
  Neighbours known(neighbours, seen);
  for (const host::DefaultRoute& route : routes)
    if (!route.gateway.empty()) known.add(kGateway, route.gateway, route.interface);
  // A machine may work without name servers.
  if (const auto resolvers = host::read_resolvers(host.files)) {
    observed.witnesses.emplace_back(kResolvConf);
    for (const std::string& resolver : *resolvers)
      known.add(kResolver, resolver, "");
  }
  observed.observations = seen.take();
  return observed;
}

std::optional<Finding> judge_peer(const JudgeInput& input, const Observation& peer) {
  if (peer.value != Value{false}) return std::nullopt;
  const bool is_gateway = peer.name == kGateway;
  const std::string interface = to_string(*find_attribute(peer.attributes, "interface"));
  Finding finding =
      make_finding(input, peer.subject, is_gateway ? "gateway_silent" : "resolver_silent", Health::degraded,
                   std::string(is_gateway ? "the gateway " : "the name server ") + peer.subject.key +
                       " does not answer on " + interface);
  finding.evidence = {{"interface", interface}, {"witness", std::string(kNeighbours)}};
  return finding;
}

Findings judge(const JudgeInput& input) {
  const double now = input.history.number(host_subject(), kDefaultRoutes).value_or(0);
  const double most = input.history.number(host_subject(), kMostDefaultRoutes).value_or(now);
  if (most == 0)
    return {make_finding(input, host_subject(), "not_present", Health::unsupported,
                         "no default route since the machine started")};
  Findings findings;
  if (now == 0)
    findings.push_back(make_finding(input, host_subject(), "no_default_route", Health::degraded,
                                    "the default route was lost"));
  for (const Observation& observation : input.history.latest())
    if (observation.name == kGateway || observation.name == kResolver)
      if (auto finding = judge_peer(input, observation)) findings.push_back(*std::move(finding));
  return findings;
}

}  // namespace
}  // namespace network_reachability

const Check kNetworkReachability = {
    .info = {.id = "network.reachability",
             .title = "Default route and gateway",
             .tags = {"network", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::minutes{10},
             .cost = Cost::cheap,
             .witnesses = {std::string(network_reachability::kRoutes),
                           std::string(network_reachability::kNeighbours),
                           std::string(network_reachability::kResolvConf)},
             .rights = {},
             .needs_window = true,
             .baselines = {std::string(network_reachability::kDefaultRoutes)}},
    .observe = network_reachability::observe,
    .judge = network_reachability::judge,
};

}  // namespace autopilot::checks
