// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/network_tests.hpp"

#include <utility>

#include "checks/check.hpp"
#include "host/peers/ping_helper.hpp"
#include "host/process/poll.hpp"
#include "kube/dice.hpp"

namespace autopilot::agent {
namespace {

// One for the round of pings that is under way, one for what this node says of itself.
constexpr runtime::Lanes::Limits kLanes{.lanes = 2, .max_stuck = 2, .max_queued = 4};

}  // namespace

NetworkTests::NetworkTests(NetworkTestContext context)
    : context_(std::move(context)),
      lanes_(std::make_shared<runtime::Lanes>(kLanes)),
      own_(
          context_.loop, context_.clock, {context_.node, context_.pod, {}},
          [files = context_.files, wanted = context_.interfaces] { return read_networks(files, wanted); },
          [this](std::function<void()> task) { return lanes_->submit(std::move(task)) != 0; }),
      ping_(context_.loop, context_.clock, context_.node, context_.pod, context_.ping, doors(), kube::dice(),
            context_.board) {}

PingTester::Doors NetworkTests::doors() {
  const auto helper = std::make_shared<host::PingHelper>(host::helper_command("ping"));
  return {.peers = context_.peers,
          .tls = context_.tls,
          .ask =
              [helper](const host::EchoPlan& plan) {
                return helper->ask(plan, host::mono_now() + PingTester::kLongestRound);
              },
          .submit = [this](std::function<void()> task) { return lanes_->submit(std::move(task)) != 0; },
          .look = [this] { context_.look(std::string(kPingCheck)); }};
}

void NetworkTests::add_to(net::HttpServer& server) {
  server.route("GET", api::kNetworkPath, [this](const net::HttpRequest&, net::Responder responder) {
    own_.answer(std::move(responder));
  });
}

runtime::OperationKind NetworkTests::ping_operation() {
  return {std::string(kPingCheck), checks::find_check(kPingCheck)->info.title,
          PingTester::kLongestRound + AddressBook::kPatience,
          runtime::OwnTest{[this](auto calls) { return ping_.test_now(std::move(calls)); },
                           [this] { ping_.forget_asked(); }}};
}

}  // namespace autopilot::agent
