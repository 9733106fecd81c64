// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_routes.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "net/responses.hpp"

namespace autopilot::nettest {
namespace {

using net::HttpRequest;
using net::Responder;

using Shared = std::shared_ptr<Responder>;

// Whether the request comes from an agent, or from a caller with the same rights. is_open: every caller has
// them.
void find_right(const BandwidthContext& context, const HttpRequest& request, bool is_open,
                const std::function<void(const std::optional<Error>& refusal)>& done) {
  if (request.peer.is_local_socket || is_open) return done(std::nullopt);
  if (!kube::may_be_of_agent(context.rights, request))
    return done(Error{Errc::denied,
                      "tests of bandwidth are for agents, which show their certificate (tls.mode), and for "
                      "the Unix socket"});
  context.rights.find_agent(request.peer.names, [done](const Status& is_agent) {
    done(is_agent ? std::nullopt : std::optional(is_agent.error()));
  });
}

// What of this node a request is about.
struct OwnEnd {
  std::string address;
  std::string rdma_port;  // else empty
  std::size_t gpus = 0;   // else 0
  api::Memory memory = api::Memory::host;
};

template <typename Request>
OwnEnd own_end_of(const Request& request) {
  return {request.address, request.rdma_port, request.gpus, request.memory};
}

// Lines may be open to everybody; GPUs are not.
bool is_open_for(const BandwidthContext& context, const OwnEnd& end) {
  return context.is_open && end.gpus == 0 && end.memory == api::Memory::host;
}

// Devices that no other test may use during this test.
struct Claim {
  std::string interface;
  std::string gpu = {};                              // that has the buffers, by PCI address; else empty
  host::GpuVendor vendor = host::GpuVendor::nvidia;  // of all GPUs, on kAllLines
};

Result<Claim> claim_in(const OwnLines& lines, const OwnEnd& end) {
  const auto& [address, rdma_port, gpus, memory] = end;
  const auto found = std::ranges::find(lines.addresses, address, &api::NetworkAddress::address);
  if (found == lines.addresses.end())
    return fail(Errc::malformed, "address: " + address + " is none of this node; GET /v1/network");
  if (gpus > lines.gpus)
    return fail(Errc::malformed, "gpus: this node has " + std::to_string(lines.gpus) + "; GET /v1/network");
  if (gpus > 0) return Claim{.interface = kAllLines, .vendor = lines.gpu_vendor};
  if (rdma_port.empty()) return Claim{found->interface};
  const auto port = std::ranges::find(lines.rdma, rdma_port, &api::RdmaPort::port);
  if (port == lines.rdma.end())
    return fail(Errc::malformed,
                "rdmaPort: " + rdma_port + " is not an active port of this node; GET /v1/network");
  if (memory == api::Memory::host) return Claim{line_of(*port)};
  if (port->gpu.empty())
    return fail(Errc::malformed, "memory: no GPU of NVIDIA is near " + rdma_port + "; GET /v1/network");
  return Claim{line_of(*port), port->gpu};
}

using OnClaim = std::function<void(const Result<Claim>& claim)>;

// perftest does not check whether a GPU is in use; the GPU probe does so for an all-reduce.
void find_idle(const BandwidthContext& context, const Claim& claim, const OnClaim& done) {
  if (claim.gpu.empty()) return done(claim);
  context.doors.look_at_gpu(claim.gpu, [claim, done](const std::string& busy) {
    done(busy.empty() ? Result<Claim>(claim) : fail(Errc::conflict, busy));
  });
}

// Claims the interface of an address of this node or, over RDMA, of a port; by NCCL all of them. Servers that
// wait for the test of another caller make room first, which takes time; the GPU is checked after that, so
// that the test begins right after the check.
void take_claim(const BandwidthContext& context, const OwnEnd& end, const OnClaim& done) {
  context.doors.own.find([context, end, done](const OwnNetwork::Lines& lines) {
    const auto claim = lines ? claim_in(*lines, end) : fail(lines.error());
    if (!claim) return done(claim);
    const auto look = [context, claim = *claim, done] { find_idle(context, claim, done); };
    if (claim->interface == kAllLines) return context.doors.standing.end_all(look);
    context.doors.standing.end_on(claim->interface, look);
  });
}

// Whether an agent reports the address as an address of its node.
void find_peer(const BandwidthContext& context, const std::string& node, const std::string& address,
               const std::function<void(Status is_known)>& done) {
  context.doors.peers(
      [&book = context.doors.book, node, address, done](const Result<std::vector<fleet::Peer>>& peers) {
        if (!peers) return done(fail(peers.error()));
        const auto peer = std::ranges::find(*peers, node, &fleet::Peer::node);
        if (peer == peers->end()) return done(fail(Errc::not_found, "node: no agent is known on " + node));
        book.find({*peer}, [node, address, done](const std::vector<PeerNetwork>& networks) {
          const auto& addresses = networks.front().network.addresses;
          const bool is_known =
              networks.front().problem.empty() &&
              std::ranges::find(addresses, address, &api::NetworkAddress::address) != addresses.end();
          done(is_known ? Status{}
                        : fail(Errc::denied, "to: the agent of " + node + " does not name " + address +
                                                 " as an address of its node"));
        });
      });
}

// A test would take its share of the lines from the job.
std::optional<Error> find_job(const BandwidthContext& context) {
  const std::string job = context.doors.job();
  if (job.empty()) return std::nullopt;
  return Error{Errc::conflict, "a job is on this node, which is not tested beside it: " + job};
}

void begin_servers(const BandwidthContext& context, const Claim& claim, const api::ServersRequest& wanted,
                   const Shared& shared) {
  const auto answer = [shared](const Result<api::ServersAnswer>& listening) {
    if (!listening) return shared->respond(listening.error());
    shared->respond(net::json_response(api::to_json(*listening)));
  };
  const int seconds = static_cast<int>(wanted.seconds);
  const int test_seconds = static_cast<int>(wanted.test_seconds);
  if (wanted.gpus > 0)
    return context.doors.ends.serve(
        AllReduceServer{{.address = wanted.address,
                         .gpus = static_cast<int>(wanted.gpus),
                         .ranks = static_cast<int>(api::ranks_of(wanted.ranks, wanted.gpus)),
                         .seconds = test_seconds,
                         .vendor = claim.vendor}},
        seconds, answer);
  if (!wanted.rdma_port.empty())
    return context.doors.ends.serve(claim.interface,
                                    RdmaServer{.address = wanted.address,
                                               .port = wanted.rdma_port,
                                               .seconds = seconds,
                                               .test_seconds = test_seconds,
                                               .gpu = claim.gpu},
                                    answer);
  context.doors.ends.serve(claim.interface,
                           BandwidthServer{.address = wanted.address,
                                           .processes = static_cast<int>(wanted.processes),
                                           .seconds = seconds,
                                           .allowed = {wanted.allowed}},
                           answer);
}

void serve(const BandwidthContext& context, const HttpRequest& request, Responder responder) {
  const auto shared = std::make_shared<Responder>(std::move(responder));
  const auto wanted = api::parse_servers_request(request.body);
  if (!wanted) return shared->respond(wanted.error());
  const OwnEnd end = own_end_of(*wanted);
  find_right(context, request, is_open_for(context, end),
             [context, wanted = *wanted, end, shared](const std::optional<Error>& refusal) {
               if (refusal) return shared->respond(*refusal);
               if (const auto job = find_job(context)) return shared->respond(*job);
               take_claim(context, end, [context, wanted, shared](const Result<Claim>& claim) {
                 if (!claim) return shared->respond(claim.error());
                 begin_servers(context, *claim, wanted, shared);
               });
             });
}

void end_servers(const BandwidthContext& context, const HttpRequest& request, Responder responder) {
  const auto shared = std::make_shared<Responder>(std::move(responder));
  const std::string& id = request.parameters.at("id");
  find_right(context, request, context.is_open && !context.doors.ends.holds_gpus(id),
             [context, id, shared](const std::optional<Error>& refusal) {
               if (refusal) return shared->respond(*refusal);
               context.doors.ends.end(id, [shared](const api::ServersEnd& end) {
                 shared->respond(net::json_response(api::to_json(end)));
               });
             });
}

void measure(const BandwidthContext& context, const api::BandwidthRequest& wanted, const Shared& shared) {
  take_claim(context, own_end_of(wanted), [context, wanted, shared](const Result<Claim>& claim) {
    if (!claim) return shared->respond(claim.error());
    const auto answer = [shared](const Result<api::BandwidthAnswer>& measured) {
      if (!measured) return shared->respond(measured.error());
      shared->respond(net::json_response(api::to_json(*measured)));
    };
    context.doors.ends.measure(claim->interface, wanted, answer, claim->gpu, claim->vendor);
  });
}

void start_measuring(const BandwidthContext& context, const HttpRequest& request, Responder responder) {
  const auto shared = std::make_shared<Responder>(std::move(responder));
  const auto wanted = api::parse_bandwidth_request(request.body);
  if (!wanted) return shared->respond(wanted.error());
  find_right(context, request, is_open_for(context, own_end_of(*wanted)),
             [context, wanted = *wanted, shared](const std::optional<Error>& refusal) {
               if (refusal) return shared->respond(*refusal);
               if (const auto job = find_job(context)) return shared->respond(*job);
               find_peer(context, wanted.node, wanted.to, [context, wanted, shared](const Status& is_known) {
                 if (!is_known) return shared->respond(is_known.error());
                 measure(context, wanted, shared);
               });
             });
}

}  // namespace

void add_bandwidth_routes(net::HttpServer& server, const BandwidthContext& context) {
  server.route("POST", api::kServersPath, [context](const HttpRequest& request, Responder responder) {
    serve(context, request, std::move(responder));
  });
  server.route("DELETE", std::string(api::kServersPath) + "/{id}",
               [context](const HttpRequest& request, Responder responder) {
                 end_servers(context, request, std::move(responder));
               });
  server.route("POST", api::kBandwidthPath, [context](const HttpRequest& request, Responder responder) {
    start_measuring(context, request, std::move(responder));
  });
}

}  // namespace autopilot::nettest
