// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/ping_helper.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "nettest/echo/ask_peers.hpp"

namespace autopilot::nettest {
namespace {

constexpr std::string_view kAsk = "ask";
// For what is known by the deadline to be told.
constexpr Duration kToTell = std::chrono::milliseconds{200};

Result<std::string> answer_ask(std::string_view params, MonoTime deadline) {
  const EchoPlan plan = TRY(parse_echo_plan(params));
  return format_peer_echoes(TRY(ask_peers(plan, deadline - kToTell)));
}

EchoPlan part_of(const EchoPlan& plan, std::size_t first) {
  EchoPlan part = plan;
  const std::size_t end = std::min(plan.addresses.size(), first + EchoPlan::kMostAddresses);
  part.addresses.assign(plan.addresses.begin() + static_cast<std::ptrdiff_t>(first),
                        plan.addresses.begin() + static_cast<std::ptrdiff_t>(end));
  return part;
}

std::vector<PeerEcho> unasked(const EchoPlan& plan, const std::string& why) {
  std::vector<PeerEcho> echoes;
  for (const std::string& address : plan.addresses)
    echoes.push_back({.address = address, .way = EchoWay::none, .problem = why});
  return echoes;
}

}  // namespace

int run_ping_helper(int fd) {
  return host::serve(fd, {{std::string(kAsk), answer_ask}});
}

PingHelper::PingHelper(host::Command helper) : helper_("ping", std::move(helper)) {}

Result<std::vector<PeerEcho>> PingHelper::ask(const EchoPlan& plan, MonoTime deadline) {
  constexpr std::size_t kMost = EchoPlan::kMostAddresses;
  std::vector<PeerEcho> echoes;
  std::vector<Error> failures;
  const std::size_t parts = (plan.addresses.size() + kMost - 1) / kMost;
  for (std::size_t part = 0; part < parts; ++part) {
    const EchoPlan some = part_of(plan, part * kMost);
    const MonoTime now = host::mono_now();
    const auto left = static_cast<Duration::rep>(parts - part);
    auto answered = ask_some(some, now + (deadline - now) / left);
    if (!answered) failures.push_back(answered.error());
    std::ranges::move(answered ? *std::move(answered) : unasked(some, answered.error().what),
                      std::back_inserter(echoes));
  }
  helper_.rest();
  if (!failures.empty() && failures.size() == parts) return fail(std::move(failures.front()));
  return echoes;
}

Result<std::vector<PeerEcho>> PingHelper::ask_some(const EchoPlan& plan, MonoTime deadline) {
  auto answer = helper_.call(kAsk, format_echo_plan(plan), deadline);
  if (!answer) return fail(std::move(answer).error().error);
  auto echoes = TRY(parse_peer_echoes(*answer));
  const bool is_of_plan = std::ranges::equal(echoes, plan.addresses, {}, &PeerEcho::address);
  if (!is_of_plan) return fail(Errc::internal, "ping helper: it answers of other addresses");
  return echoes;
}

}  // namespace autopilot::nettest
