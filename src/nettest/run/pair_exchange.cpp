// SPDX-License-Identifier: Apache-2.0

#include "nettest/run/pair_exchange.hpp"

#include <chrono>
#include <utility>

#include "api/v1.hpp"

namespace autopilot::nettest {

namespace {

using std::chrono::seconds;

std::size_t seconds_to_give_up(const PairExchange::Wish& wish) {
  if (wish.gpus > 0) return 2 * wish.seconds + kToGiveUpNccl;
  return 2 * wish.seconds + (wish.source.rdma_port.empty() ? kToGiveUp : kToGiveUpRdma);
}

}  // namespace

PairExchange::PairExchange(net::EventLoop& loop, const std::shared_ptr<const net::TlsContext>& tls, Wish wish,
                           OnEnd on_end)
    : wish_(std::move(wish)),
      on_end_(std::move(on_end)),
      source_(loop, url_of(wish_.source.peer), tls_for(tls, wish_.source.peer)),
      destination_(loop, url_of(wish_.destination.peer), tls_for(tls, wish_.destination.peer)) {
  listen();
}

void PairExchange::listen() {
  const api::ServersRequest wanted{.address = wish_.destination.address,
                                   .allowed = wish_.source.address,
                                   .processes = wish_.processes,
                                   .seconds = seconds_to_give_up(wish_),
                                   .rdma_port = wish_.destination.rdma_port,
                                   .test_seconds = wish_.seconds,
                                   .gpus = wish_.gpus,
                                   .memory = wish_.memory};
  exchange_ = destination_.send(request_of("POST", api::kServersPath, api::to_json(wanted)),
                                wish_.gpus > 0 ? kToListenNccl : kToListen, [this](const auto& answer) {
                                  const auto body = body_of(wish_.destination.peer.node, answer);
                                  const auto servers = body ? api::parse_servers_answer(*body)
                                                            : Result<api::ServersAnswer>(fail(body.error()));
                                  if (servers) {
                                    servers_ = servers->id;
                                    return is_abandoned_ ? end_servers() : measure(*servers);
                                  }
                                  answer_ = fail(servers.error());
                                  if (servers.error().code == Errc::conflict)
                                    refused_by_ = wish_.destination.peer.node;
                                  end();
                                });
}

void PairExchange::measure(const api::ServersAnswer& servers) {
  stage_ = Stage::measuring;
  const api::BandwidthRequest wanted{.address = wish_.source.address,
                                     .node = wish_.destination.peer.node,
                                     .to = wish_.destination.address,
                                     .ports = servers.ports,
                                     .streams = wish_.streams,
                                     .seconds = wish_.seconds,
                                     .most = wish_.most,
                                     .rdma_port = wish_.source.rdma_port,
                                     .gpus = wish_.gpus,
                                     .nccl_id = servers.nccl_id,
                                     .memory = wish_.memory};
  exchange_ = source_.send(request_of("POST", api::kBandwidthPath, api::to_json(wanted)),
                           seconds{seconds_to_give_up(wish_)}, [this](const auto& answer) {
                             const auto body = body_of(wish_.source.peer.node, answer);
                             answer_ = body ? api::parse_bandwidth_answer(*body)
                                            : Result<api::BandwidthAnswer>(fail(body.error()));
                             if (!body && body.error().code == Errc::conflict)
                               refused_by_ = wish_.source.peer.node;
                             end_servers();
                           });
}

void PairExchange::abandon(std::function<void()> done) {
  on_end_ = [done = std::move(done)](const auto&, const auto&) { done(); };
  is_abandoned_ = true;
  if (stage_ == Stage::measuring) end_servers();
}

void PairExchange::end_servers() {
  stage_ = Stage::ending;
  exchange_ = destination_.send(end_request_of(servers_), kToEnd, [this](const auto& answer) {
    take_servers_end(answer);
    end();
  });
}

// The waiting agent may have seen a wrong sum, or ended first; the other agent knows only that its peer is
// gone.
void PairExchange::take_servers_end(const Result<net::HttpResponse>& answer) {
  const auto body = body_of(wish_.destination.peer.node, answer);
  const auto found = body ? api::parse_servers_end(*body) : Result<api::ServersEnd>(fail(body.error()));
  if (!found || found->reason.empty() || (answer_ && answer_->reason == found->reason)) return;
  const bool is_cause = answer_ && answer_->reason == api::kPeerVanished;
  if (found->reason != api::kWrongResult && !is_cause) return;
  answer_ =
      api::BandwidthAnswer{.to_peer = {}, .from_peer = {}, .reason = found->reason, .error = found->error};
  if (!found->wrong_at.empty())
    answer_->wrong_at = found->wrong_at == api::kWrongHere ? api::kWrongThere : api::kWrongHere;
}

// The callback may destroy this.
void PairExchange::end() {
  stage_ = Stage::ended;
  const OnEnd told = on_end_;
  told(std::move(answer_), std::string(refused_by_));
}

net::ServerUrl url_of(const fleet::Peer& peer) {
  return {peer.is_encrypted, peer.address, peer.port, ""};
}

std::shared_ptr<const net::TlsContext> tls_for(const std::shared_ptr<const net::TlsContext>& tls,
                                               const fleet::Peer& peer) {
  return tls && peer.is_encrypted ? tls->for_server(peer.node) : nullptr;
}

net::HttpRequest request_of(std::string method, std::string path, std::string body) {
  net::HttpRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.body = std::move(body);
  return request;
}

net::HttpRequest end_request_of(const std::string& servers) {
  return request_of("DELETE", std::string(api::kServersPath) + "/" + servers, "");
}

Result<std::string> body_of(const std::string& node, const Result<net::HttpResponse>& answer) {
  if (!answer) return fail(answer.error().code, node + ": " + answer.error().what);
  if (answer->status == 200) return answer->body;
  constexpr int kConflict = 409;
  return fail(
      answer->status == kConflict ? Errc::conflict : Errc::denied,
      node + ": " + api::parse_error(answer->body).what + " (status " + std::to_string(answer->status) + ")");
}

}  // namespace autopilot::nettest
