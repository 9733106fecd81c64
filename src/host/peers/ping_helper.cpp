// SPDX-License-Identifier: Apache-2.0
#include "host/peers/ping_helper.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "host/helpers/helper_server.hpp"
#include "host/peers/ask_peers.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kAsk = "ask";
// For what is known by the deadline to be told.
constexpr Duration kToTell = std::chrono::milliseconds{200};

Result<std::string> answer_ask(std::string_view params, MonoTime deadline) {
  const EchoPlan plan = TRY(parse_echo_plan(params));
  return format_peer_echoes(TRY(ask_peers(plan, deadline - kToTell)));
}

}  // namespace

int run_ping_helper(int fd) {
  return serve(fd, {{std::string(kAsk), answer_ask}});
}

PingHelper::PingHelper(Command helper) : helper_("ping", std::move(helper)) {}

Result<std::vector<PeerEcho>> PingHelper::ask(const EchoPlan& plan, MonoTime deadline) {
  std::vector<PeerEcho> echoes;
  for (std::size_t first = 0; first < plan.addresses.size(); first += EchoPlan::kMostAddresses) {
    EchoPlan some = plan;
    const std::size_t end = std::min(plan.addresses.size(), first + EchoPlan::kMostAddresses);
    some.addresses.assign(plan.addresses.begin() + static_cast<std::ptrdiff_t>(first),
                          plan.addresses.begin() + static_cast<std::ptrdiff_t>(end));
    auto answered = ask_some(some, deadline);
    if (!answered) {
      helper_.rest();
      return answered;
    }
    std::ranges::move(*answered, std::back_inserter(echoes));
  }
  helper_.rest();
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

}  // namespace autopilot::host
