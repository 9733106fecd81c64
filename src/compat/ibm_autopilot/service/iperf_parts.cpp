// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/iperf_parts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "compat/ibm_autopilot/service/test_rights.hpp"
#include "core/parse.hpp"
#include "net/responses.hpp"
#include "nettest/run/bandwidth_observations.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

namespace ibm = compat::ibm_autopilot;

// Of each other node, the address from which it sends in the network of `own`.
std::vector<std::string> heard_at(const api::NetworkAddress& own,
                                  const std::vector<nettest::PeerNetwork>& others) {
  std::vector<std::string> heard;
  for (const nettest::PeerNetwork& other : others)
    for (const api::NetworkAddress& one : other.network.addresses)
      if (one.interface == own.interface && api::is_ipv6(one.address) == api::is_ipv6(own.address)) {
        heard.push_back(one.address);
        break;
      }
  return heard;
}

// Null where no other agent names it.
const api::NetworkAddress* find_address(const std::vector<nettest::PeerNetwork>& others,
                                        const std::string& address) {
  for (const nettest::PeerNetwork& other : others) {
    const auto& addresses = other.network.addresses;
    const auto found = std::ranges::find(addresses, address, &api::NetworkAddress::address);
    if (found != addresses.end()) return &*found;
  }
  return nullptr;
}

// In the network of that address, else any of its family. Null: there is none.
const api::NetworkAddress* source_for(const std::vector<api::NetworkAddress>& own,
                                      const api::NetworkAddress& to) {
  const api::NetworkAddress* found = nullptr;
  for (const api::NetworkAddress& one : own) {
    if (api::is_ipv6(one.address) != api::is_ipv6(to.address)) continue;
    if (one.interface == to.interface) return &one;
    if (found == nullptr) found = &one;
  }
  return found;
}

std::string clients_text(const Result<nettest::BandwidthReport>& report) {
  if (!report) return ibm::iperf_error_line(report.error().what);
  const std::optional<nettest::Bandwidth>& measured = report->measured;
  if (!measured) return ibm::iperf_error_line(report->error);
  std::vector<ibm::IperfShare> shares;
  for (const nettest::Carried& process : measured->processes)
    shares.push_back({process.sent, process.received});
  if (shares.empty()) shares.push_back({measured->all.sent, measured->all.received});
  return ibm::clients_json(shares);
}

}  // namespace

// The answer, as servers begin one after the other.
struct IperfParts::Serving {
  Shared to;
  std::size_t left = 0;
  std::string text;

  void add(const std::string& lines) {
    text += lines;
    if (--left == 0) to->respond(net::text_response(text));
  }
};

IperfParts::IperfParts(nettest::BandwidthDoors doors, kube::CallerRights rights, bool is_open)
    : doors_(std::move(doors)), rights_(std::move(rights)), is_open_(is_open) {}

void IperfParts::serve(const net::HttpRequest& request, net::Responder responder) {
  const auto to = std::make_shared<net::Responder>(std::move(responder));
  const auto wanted = ibm::read_iperf_servers(request.query);
  if (!wanted) return to->respond(net::text_response(wanted.error().what + "\n"));
  with_right(request, to, [this, to, wanted = *wanted] {
    // A second question is for other servers, and not for more of them.
    doors_.standing.end_all([this, to, wanted, call = ++calls_] {
      with_networks(to, [this, to, wanted, call](const Addresses& own, const Networks& others) {
        if (call != calls_)
          return to->respond(net::text_response(ibm::iperf_error_line("a later question took its place")));
        begin_servers(wanted, own, others, to);
      });
    });
  });
}

void IperfParts::stop_serving(const net::HttpRequest& request, net::Responder responder) {
  const auto to = std::make_shared<net::Responder>(std::move(responder));
  with_right(request, to, [this, to] {
    ++calls_;
    doors_.standing.end_all([to] { to->respond(net::text_response(ibm::servers_removed_line())); });
  });
}

void IperfParts::measure(const net::HttpRequest& request, net::Responder responder) {
  const auto to = std::make_shared<net::Responder>(std::move(responder));
  const auto wanted = ibm::read_iperf_clients(request.query);
  if (!wanted) return to->respond(net::text_response(wanted.error().what + "\n"));
  with_right(request, to, [this, to, wanted = *wanted] {
    with_networks(to, [this, to, wanted](const Addresses& own, const Networks& others) {
      begin_clients(wanted, own, others, to);
    });
  });
}

void IperfParts::with_right(const net::HttpRequest& request, const Shared& to, std::function<void()> then) {
  const std::string check(nettest::kBandwidthCheck);
  find_test_rights(rights_, is_open_, request, {check},
                   [check, to, then = std::move(then)](const TestRights& rights) {
                     if (rights.any()) return then();
                     const auto why = rights.refused.find(check);
                     to->respond(net::text_response(ibm::iperf_error_line(
                         "not begun: " + (why == rights.refused.end() ? "authenticate" : why->second))));
                   });
}

// A test would take its share of the lines from a job.
void IperfParts::with_networks(const Shared& to,
                               std::function<void(const Addresses& own, const Networks& others)> then) {
  if (const std::string job = doors_.job(); !job.empty())
    return to->respond(net::text_response(
        ibm::iperf_error_line("a job is on this node, which is not tested beside it: " + job)));
  doors_.own.find([this, to, then = std::move(then)](const nettest::OwnNetwork::Lines& lines) {
    if (!lines) return to->respond(net::text_response(ibm::iperf_error_line(lines.error().what)));
    doors_.peers([this, to, then, own = lines->addresses](const Result<std::vector<fleet::Peer>>& peers) {
      if (!peers) return to->respond(net::text_response(ibm::iperf_error_line(peers.error().what)));
      std::vector<fleet::Peer> others = *peers;
      std::erase_if(others, [this](const fleet::Peer& peer) { return peer.node == doors_.node; });
      doors_.book.find(std::move(others), [then, own](Networks networks) {
        std::erase_if(networks, [](const nettest::PeerNetwork& network) { return !network.problem.empty(); });
        then(own, networks);
      });
    });
  });
}

void IperfParts::begin_servers(const ibm::IperfServers& wanted, const Addresses& own, const Networks& others,
                               const Shared& to) {
  std::vector<api::NetworkAddress> lines = api::lines_of(own);
  std::erase_if(lines, [&wanted](const auto& line) { return !ibm::is_of(wanted.plane, line.interface); });
  if (lines.empty())
    return to->respond(net::text_response(ibm::iperf_error_line("this node has no interface for it")));
  const auto serving = std::make_shared<Serving>(Serving{to, lines.size(), ""});
  for (const api::NetworkAddress& line : lines)
    begin(serving, wanted, line, others);
}

void IperfParts::begin(const std::shared_ptr<Serving>& serving, const ibm::IperfServers& wanted,
                       const api::NetworkAddress& own, const Networks& others) {
  std::vector<std::string> heard = heard_at(own, others);
  if (heard.empty())
    return serving->add(ibm::iperf_error_line(own.interface + ": no other agent is known in its network"));
  if (heard.size() > nettest::kMostHeard)
    return serving->add(ibm::iperf_error_line(own.interface + ": more than " +
                                              std::to_string(nettest::kMostHeard) +
                                              " other nodes, the most that one server accepts; "
                                              "autopilot network test measures them all"));
  if (doors_.ends.is_in_use(own.interface))
    return serving->add(ibm::iperf_error_line(own.interface + " is in use by another test of bandwidth"));
  const nettest::BandwidthServer server{.address = own.address,
                                        .processes = wanted.count,
                                        .first_port = wanted.first_port,
                                        .seconds = static_cast<int>(kStanding.count()),
                                        .allowed = std::move(heard)};
  doors_.standing.serve(
      own.interface, server, [this, serving, own](const Result<api::ServersAnswer>& answer) {
        if (!answer) return serving->add(ibm::iperf_error_line(own.interface + ": " + answer.error().what));
        std::string lines;
        for (const std::uint16_t port : answer->ports)
          lines += ibm::server_line(own.address, port, own.interface, doors_.pod, doors_.node);
        serving->add(lines);
      });
}

void IperfParts::begin_clients(const ibm::IperfClients& wanted, const Addresses& own, const Networks& others,
                               const Shared& to) {
  const api::NetworkAddress* destination = find_address(others, wanted.to);
  if (destination == nullptr)
    return to->respond(net::text_response(ibm::iperf_error_line(
        "no other agent names " + to_printable(wanted.to, 64) + " as an address of its node")));
  const api::NetworkAddress* source = source_for(own, *destination);
  if (source == nullptr)
    return to->respond(
        net::text_response(ibm::iperf_error_line("this node has no address of the family of " + wanted.to)));
  nettest::BandwidthTest test{
      .address = source->address, .to = wanted.to, .ports = wanted.ports, .seconds = ibm::kIperfSeconds};
  if (const int percent = doors_.choice().most_percent; percent < nettest::PairChoice::kAllOfLine) {
    if (source->rate == 0)
      return to->respond(net::text_response(
          ibm::iperf_error_line(source->interface + ": the line rate is unknown, and "
                                                    "network.most_percent allows only a share of it")));
    test.most = source->rate / nettest::PairChoice::kAllOfLine * static_cast<std::uint64_t>(percent);
  }
  doors_.ends.measure_to(source->interface, test, [to](const Result<nettest::BandwidthReport>& report) {
    to->respond(net::text_response(clients_text(report)));
  });
}

}  // namespace autopilot::compat::ibm_autopilot
