// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/network_tests.hpp"

#include <memory>
#include <utility>

#include "checks/check.hpp"
#include "core/parse.hpp"
#include "diagnostics/child/gpu_probe_helper.hpp"
#include "host/files/fd.hpp"
#include "kube/pacing.hpp"
#include "net/responses.hpp"
#include "nettest/echo/ping_helper.hpp"
#include "nettest/run/bandwidth_observations.hpp"
#include "nettest/run/bandwidth_routes.hpp"
#include "nettest/run/group_observations.hpp"

namespace autopilot::nettest {
namespace {

// One for the running round of pings, one to read the addresses of this node.
constexpr runtime::Workers::Limits kLanes{.threads = 2, .max_stuck = 2, .max_queued = 4};

constexpr runtime::Workers::Limits kEndLanes{
    .threads = BandwidthEnds::kMost, .max_stuck = BandwidthEnds::kMost, .max_queued = BandwidthEnds::kMost};

// A report of the probe is one line, and its words of standard error are few.
constexpr host::RunLimits kChildLimits{.output_bytes = kMaxNetProbeReport};

Result<host::ChildReport> run_child(const host::Command& command, MonoTime deadline,
                                    const std::stop_token& stop, const host::LineHandler& on_line) {
  host::ChildRunner runner;
  return runner.run(command, deadline, kChildLimits, stop, on_line);
}

// Most agents make no test, and threads take memory.
bool submit(std::optional<runtime::Workers>& lanes, const runtime::Workers::Limits& limits,
            std::function<void()> task) {
  if (!lanes) lanes.emplace(limits);
  return lanes->submit(std::move(task)) != 0;
}

std::string title_of(std::string_view check) {
  return std::string(checks::find_check(check)->info.title);
}

diagnostics::OperationKind pair_tests_by(const PairMedium& medium, BandwidthTester& tester) {
  return {std::string(medium.check), title_of(medium.check), BandwidthTester::kDeadline,
          diagnostics::OwnTest{[&tester](auto calls) { return tester.begin(std::move(calls)); },
                               [&tester] { return tester.cancel(); }}};
}

// Those of ?nodes=gpu-1,gpu-2; without it none, which is all.
Result<std::vector<Subject>> named_nodes(const net::HttpRequest& request) {
  std::vector<Subject> nodes;
  const auto found = request.query.find("nodes");
  if (found == request.query.end()) return nodes;
  for (const std::string_view name : split(found->second, ',')) {
    Subject& node = nodes.emplace_back();
    node.kind = SubjectKind::peer;
    node.key = name;
  }
  if (nodes.size() > diagnostics::Operations::kMaxReserved)
    return fail(Errc::malformed, "nodes: at most " + std::to_string(diagnostics::Operations::kMaxReserved));
  return nodes;
}

}  // namespace

NetworkTests::NetworkTests(NetworkTestContext context)
    : context_(std::move(context)),
      own_(
          context_.loop, context_.clock,
          [this] {
            return api::NodeNetwork{context_.node, context_.pod, {}, context_.leaf()};
          },
          [files = context_.files, wanted = context_.interfaces,
           read = context_.is_simulated ? read_addresses : read_networks] { return read(files, wanted); },
          [this](std::function<void()> task) { return submit(lanes_, kLanes, std::move(task)); }),
      book_(context_.loop, context_.clock, context_.tls),
      ping_(context_.loop, context_.clock, book_, context_.node, context_.pod, context_.ping, ping_doors(),
            kube::dice(), context_.board),
      ends_(context_.loop, context_.clock, context_.node + "-", end_doors(end_lanes_)),
      standing_(context_.loop, context_.clock, context_.node + "-standing-", end_doors(standing_lanes_)),
      bandwidth_(context_.loop, context_.clock, kByTcp, book_, tester_doors(kByTcp.check), context_.board),
      rdma_(context_.loop, context_.clock, kByRdma, book_, tester_doors(kByRdma.check), context_.board),
      rdma_of_gpus_(context_.loop, context_.clock, kByRdmaOfGpus, book_, tester_doors(kByRdmaOfGpus.check),
                    context_.board),
      nccl_(context_.loop, context_.clock, kByNccl, book_, tester_doors(kByNccl.check), context_.board),
      groups_(context_.loop, context_.clock, book_, tester_doors(kGroupCheck), context_.board),
      loopback_(context_.loop, context_.clock,
                {own_, ends_, standing_, [this] { return job(); },
                 [this] { context_.look(std::string(kLoopbackCheck)); }},
                context_.board) {}

TesterDoors NetworkTests::tester_doors(std::string_view check) {
  return {.peers = context_.peers,
          .tls = context_.tls,
          .choice = context_.pairs,
          .look = [this, check = std::string(check)] { context_.look(check); }};
}

PingTester::Doors NetworkTests::ping_doors() {
  const auto helper = std::make_shared<PingHelper>(host::helper_command("ping"));
  return {.peers = context_.peers,
          .ask =
              [helper](const EchoPlan& plan) {
                return helper->ask(plan, host::mono_now() + PingTester::kLongestRound);
              },
          .submit = [this](std::function<void()> task) { return submit(lanes_, kLanes, std::move(task)); },
          .look = [this] { context_.look(std::string(kPingCheck)); }};
}

BandwidthEnds::Doors NetworkTests::end_doors(std::optional<runtime::Workers>& lanes) {
  return {
      .program = net_probe_program(),
      .gpu_program = diagnostics::gpu_probe_program(),
      .run = run_child,
      .submit = [&lanes](std::function<void()> task) { return submit(lanes, kEndLanes, std::move(task)); },
      .on_gpus_free = [this] { context_.look("gpu.processes"); }};
}

void NetworkTests::add_to(net::HttpServer& server) {
  server.route("GET", api::kNetworkPath, [this](const net::HttpRequest&, net::Responder responder) {
    own_.answer(std::move(responder));
  });
  server.route("GET", api::kBandwidthPlanPath,
               [this](const net::HttpRequest& request, net::Responder responder) {
                 answer_plan(request, std::move(responder));
               });
  add_bandwidth_routes(server,
                       {.doors = bandwidth_doors(), .rights = context_.rights, .is_open = context_.is_open});
}

// ?kind=rdma&memory=gpu; default: over TCP, from the memory of the host.
Result<BandwidthTester*> NetworkTests::tester_for(const net::HttpRequest& request) {
  const auto said = [&request](const char* name, const char* otherwise) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string(otherwise) : found->second;
  };
  const std::string kind = said("kind", "tcp");
  const std::string memory = said("memory", "host");
  if (kind == "rdma" && memory == "gpu") return &rdma_of_gpus_;
  if (memory != "host") return fail(Errc::malformed, "memory: expected host or, with kind=rdma, gpu");
  if (kind == "tcp") return &bandwidth_;
  if (kind == "rdma") return &rdma_;
  if (kind == "nccl") return &nccl_;
  return fail(Errc::malformed, "kind: expected tcp, rdma or nccl");
}

void NetworkTests::answer_plan(const net::HttpRequest& request, net::Responder responder) {
  const auto to = std::make_shared<net::Responder>(std::move(responder));
  const auto tester = tester_for(request);
  if (!tester) return to->respond(tester.error());
  const auto nodes = named_nodes(request);
  if (!nodes) return to->respond(nodes.error());
  (*tester)->plan(*nodes, [to, is_simulated = context_.is_simulated](Result<api::BandwidthPlan> plan) {
    if (!plan) return to->respond(plan.error());
    plan->simulated = is_simulated;
    to->respond(net::json_response(api::to_json(*plan)));
  });
}

void NetworkTests::note_job() {
  const bool is_idle = ends_.is_idle() && standing_.is_idle();
  if (!is_idle && !job().empty()) stop();
}

void NetworkTests::stop() {
  ends_.stop();
  standing_.stop();
}

BandwidthDoors NetworkTests::bandwidth_doors() {
  return {ends_,
          standing_,
          own_,
          book_,
          context_.peers,
          [this] { return job(); },
          context_.look_at_gpu,
          context_.node,
          context_.pod,
          context_.pairs};
}

std::vector<diagnostics::OperationKind> NetworkTests::operations() {
  std::vector<diagnostics::OperationKind> kinds{
      {std::string(kPingCheck), title_of(kPingCheck), PingTester::kLongestRound + AddressBook::kPatience,
       diagnostics::OwnTest{[this](auto calls) { return ping_.test_now(std::move(calls)); },
                            [this] {
                              ping_.forget_asked();
                              return std::string();
                            }}},
      pair_tests_by(kByTcp, bandwidth_)};
  if (context_.is_simulated) return kinds;
  kinds.push_back(pair_tests_by(kByRdma, rdma_));
  kinds.push_back(pair_tests_by(kByRdmaOfGpus, rdma_of_gpus_));
  kinds.push_back(pair_tests_by(kByNccl, nccl_));
  kinds.push_back({std::string(kGroupCheck), title_of(kGroupCheck), GroupTester::kDeadline,
                   diagnostics::OwnTest{[this](auto calls) { return groups_.begin(std::move(calls)); },
                                        [this] { return groups_.cancel(); }}});
  kinds.push_back({std::string(kLoopbackCheck), title_of(kLoopbackCheck), LoopbackTester::kDeadline,
                   diagnostics::OwnTest{[this](auto calls) { return loopback_.begin(std::move(calls)); },
                                        [this] { return loopback_.cancel(); }}});
  return kinds;
}

}  // namespace autopilot::nettest
