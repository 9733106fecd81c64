// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/group_exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "nettest/run/observation_writer.hpp"
#include "nettest/run/pair_exchange.hpp"

namespace autopilot::nettest {
namespace {

// Reasons in the node itself; other reasons lie in other nodes, or their node is unknown (docs/gpu-probe.md).
bool is_of_itself(std::string_view reason) {
  constexpr std::array<std::string_view, 5> kOwn{"busy", "no_driver", "no_library", "no_memory",
                                                 "no_address"};
  return std::ranges::find(kOwn, reason) != kOwn.end();
}

// Reasons that lie in the node itself, or follow from the end of the others.
bool may_be_of_itself(std::string_view reason) {
  return reason == "killed" || reason == "internal";
}

// Whether the agent refused.
bool is_refusal(const Error& error) {
  return error.code == Errc::conflict || error.code == Errc::denied;
}

// For a problem whose culprit is unknown.
std::string problem_of(const std::string& node, const std::string& said) {
  return "reported by " + node + ": " + problem_text(said);
}

}  // namespace

GroupExchange::GroupExchange(net::EventLoop& loop, const std::shared_ptr<const net::TlsContext>& tls,
                             NodeGroup group, std::size_t seconds, OnEnd on_end)
    : group_(std::move(group)),
      addresses_(addresses_in(group_)),
      seconds_(seconds),
      loop_(loop),
      on_end_(std::move(on_end)) {
  for (const PeerNetwork& member : group_.members)
    sessions_.push_back(
        std::make_unique<net::HttpSession>(loop, url_of(member.peer), tls_for(tls, member.peer)));
  exchanges_.resize(sessions_.size());
  listen();
}

const std::string& GroupExchange::node_of(std::size_t member) const {
  return group_.members[member].peer.node;
}

void GroupExchange::listen() {
  const api::ServersRequest wanted{.address = addresses_.front(),
                                   .allowed = addresses_[1],
                                   .seconds = 2 * seconds_ + kToGiveUpNccl,
                                   .test_seconds = seconds_,
                                   .gpus = group_.members.front().network.gpus,
                                   .ranks = ranks_of(group_)};
  exchanges_.front() =
      sessions_.front()->send(request_of("POST", api::kServersPath, api::to_json(wanted)), kToListenNccl,
                              [this](const auto& answer) { take_servers(answer); });
}

void GroupExchange::take_servers(const Result<net::HttpResponse>& answer) {
  const auto body = body_of(node_of(0), answer);
  const auto servers =
      body ? api::parse_servers_answer(*body) : Result<api::ServersAnswer>(fail(body.error()));
  if (!servers) {
    note_refusal(node_of(0), servers.error());
    return end_when_all_have();
  }
  servers_ = servers->id;
  if (is_abandoned_) return end_servers();
  pending_ = group_.members.size() - 1;
  std::size_t first_rank = group_.members.front().network.gpus;
  for (std::size_t member = 1; member < group_.members.size(); ++member) {
    join(member, first_rank, *servers);
    first_rank += group_.members[member].network.gpus;
  }
}

void GroupExchange::join(std::size_t member, std::size_t first_rank, const api::ServersAnswer& servers) {
  const api::BandwidthRequest wanted{.address = addresses_[member],
                                     .node = node_of(0),
                                     .to = addresses_.front(),
                                     .ports = servers.ports,
                                     .seconds = seconds_,
                                     .gpus = group_.members[member].network.gpus,
                                     .ranks = ranks_of(group_),
                                     .first_rank = first_rank,
                                     .nccl_id = servers.nccl_id};
  exchanges_[member] = sessions_[member]->send(request_of("POST", api::kBandwidthPath, api::to_json(wanted)),
                                               std::chrono::seconds{2 * seconds_ + kToGiveUpNccl},
                                               [this, member](const auto& answer) { take(member, answer); });
}

void GroupExchange::take(std::size_t member, const Result<net::HttpResponse>& answer) {
  const auto body = body_of(node_of(member), answer);
  note(node_of(member),
       body ? api::parse_bandwidth_answer(*body) : Result<api::BandwidthAnswer>(fail(body.error())));
  --pending_;
  if (!is_ending_ && (pending_ == 0 || !answer_.refused.empty())) end_servers();
  end_when_all_have();
}

void GroupExchange::note(const std::string& node, const Result<api::BandwidthAnswer>& answer) {
  if (!answer) return note_refusal(node, answer.error());
  if (const std::optional<api::BandwidthWay>& way = answer->to_peer) {
    answer_.bus = std::min(answer_.bus.value_or(way->received), way->received);
  } else if (answer->reason == api::kWrongResult) {
    note_wrong(answer->error, answer->wrong_at == api::kWrongHere ? node : "");
  } else if (is_of_itself(answer->reason) || (may_be_of_itself(answer->reason) && !is_ending_)) {
    answer_.refused[node] = problem_text(answer->error);
  } else {
    note_problem(node, answer->reason, answer->error);
  }
}

void GroupExchange::note_problem(const std::string& node, const std::string& reason,
                                 const std::string& error) {
  const bool is_cause = answer_.is_cause_unknown && reason != api::kPeerVanished;
  if (!answer_.problem.empty() && !is_cause) return;
  answer_.problem = problem_of(node, error);
  answer_.is_cause_unknown = reason == api::kPeerVanished;
}

void GroupExchange::note_refusal(const std::string& node, const Error& error) {
  // A member that was asked to end in time may still be late.
  if (!is_refusal(error) && is_ending_) return;
  answer_.refused[node] = problem_text(error.what);
  if (error.code == Errc::conflict) answer_.in_use.insert(node);
}

void GroupExchange::note_wrong(const std::string& problem, const std::string& node) {
  if (answer_.wrong && !answer_.wrong->node.empty()) return;
  if (!answer_.wrong || !node.empty()) answer_.wrong = WrongSum{problem_text(problem), node};
}

void GroupExchange::end_servers() {
  is_ending_ = true;
  is_waited_for_ = true;
  exchanges_.front() = sessions_.front()->send(end_request_of(servers_), kToEnd,
                                               [this](const auto& answer) { take_servers_end(answer); });
}

// Of the waiting member, which the others know only to be gone.
void GroupExchange::note_end(const api::ServersEnd& end) {
  const bool have_all_measured = answer_.bus && answer_.problem.empty() && answer_.refused.empty();
  if (end.reason == api::kWrongResult)
    note_wrong(end.error, end.wrong_at == api::kWrongHere ? node_of(0) : "");
  else if (end.reason.empty() || have_all_measured)
    return;
  else if (is_of_itself(end.reason))
    answer_.refused[node_of(0)] = problem_text(end.error);
  else
    note_problem(node_of(0), end.reason, end.error);
}

void GroupExchange::take_servers_end(const Result<net::HttpResponse>& answer) {
  is_waited_for_ = false;
  const auto body = body_of(node_of(0), answer);
  const auto found = body ? api::parse_servers_end(*body) : Result<api::ServersEnd>(fail(body.error()));
  if (found) note_end(*found);
  end_when_all_have();
}

// Members that still join hold their lines, so another try would find these in use. An abandoned exchange
// does not wait for them.
void GroupExchange::end_when_all_have() {
  if (has_ended_ || is_waited_for_ || (pending_ > 0 && !is_abandoned_)) return;
  has_ended_ = true;
  const bool is_whole = answer_.refused.empty() && answer_.problem.empty() && !answer_.wrong;
  if (!is_whole) answer_.bus.reset();
  const OnEnd told = on_end_;
  told(answer_);
}

void GroupExchange::abandon(std::function<void()> done) {
  on_end_ = [done = std::move(done)](const GroupAnswer&) { done(); };
  is_abandoned_ = true;
  if (is_ending_)
    soon_ = loop_.after(Duration{0}, [this] { end_when_all_have(); });
  else if (pending_ > 0)
    end_servers();
}

}  // namespace autopilot::nettest
