// SPDX-License-Identifier: Apache-2.0

#include "net/server_core.hpp"

#include <algorithm>
#include <utility>

#include "net/connection.hpp"
#include "net/listener.hpp"
#include "net/loop_state.hpp"

namespace autopilot::net {

ServerStats Counters::read() const {
  ServerStats stats;
  stats.connections_open = connections_open;
  stats.connections_accepted = connections_accepted;
  stats.connections_refused = connections_refused;
  stats.connections_displaced = connections_displaced;
  stats.accept_errors = accept_errors;
  stats.handshakes_failed = handshakes_failed;
  stats.handshakes_late = handshakes_late;
  stats.requests = requests;
  stats.responses_2xx = responses_2xx;
  stats.responses_4xx = responses_4xx;
  stats.responses_5xx = responses_5xx;
  stats.requests_malformed = requests_malformed;
  stats.headers_too_large = headers_too_large;
  stats.bodies_too_large = bodies_too_large;
  stats.buffers_refused = buffers_refused;
  stats.buffers_displaced = buffers_displaced;
  stats.buffered_bytes = buffered_bytes;
  stats.buffered_bytes_most = buffered_bytes_most;
  stats.hosts_refused = hosts_refused;
  stats.slow_readers_cut = slow_readers_cut;
  stats.slow_senders_cut = slow_senders_cut;
  stats.idle_closed = idle_closed;
  stats.requests_exhausted = requests_exhausted;
  stats.answers_late = answers_late;
  stats.answers_dropped = answers_dropped;
  stats.streams_open = streams_open;
  stats.streams_refused = streams_refused;
  stats.streams_displaced = streams_displaced;
  stats.streams_cut = streams_cut;
  stats.events_sent = events_sent;
  return stats;
}

HttpServer::Core::Core(std::shared_ptr<LoopState> loop_state, ServerLimits server_limits)
    : loop(std::move(loop_state)), limits(server_limits) {}

void HttpServer::Core::add(Connection& connection) {
  connections_.insert(&connection);
  counters->connections_open = connections_.size();
}

void HttpServer::Core::forget(Connection& connection) {
  connections_.erase(&connection);
  counters->connections_open = connections_.size();
  finish_if_empty();
}

std::size_t HttpServer::Core::share_of(const Crowd& crowd, std::size_t all) const {
  const auto has = [this](const Crowd& one) {
    return std::ranges::any_of(listeners, [&](const auto& listener) { return &listener->crowd == &one; });
  };
  if (all == 0 || !has(network_crowd) || !has(local_crowd)) return all;
  const std::size_t local = std::max<std::size_t>(1, all / 4);
  return &crowd == &local_crowd ? local : std::max<std::size_t>(1, all - local);
}

void HttpServer::Core::note_bytes() {
  const std::size_t held = network_crowd.held_bytes() + local_crowd.held_bytes();
  counters->buffered_bytes = held;
  counters->buffered_bytes_most = std::max<std::uint64_t>(counters->buffered_bytes_most, held);
}

void HttpServer::Core::stop(Duration grace, std::function<void()> done) {
  AUTOPILOT_ASSERT(!is_stopping);
  is_stopping = true;
  on_stopped_ = std::move(done);
  for (const auto& listener : listeners)
    listener->close();
  for (auto* connection : connections_)
    connection->wind_down();
  grace_timer_ = std::make_unique<boost::asio::steady_timer>(*loop->context, grace);
  grace_timer_->async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!error && self)
      for (auto* connection : self->connections_)
        connection->abort();
  });
  finish_if_empty();
}

void HttpServer::Core::finish_if_empty() {
  if (!is_stopping || !connections_.empty()) return;
  if (grace_timer_) grace_timer_->cancel();
  if (on_stopped_) loop->post(std::exchange(on_stopped_, nullptr));
}

void HttpServer::Core::abort() {
  is_stopping = true;
  on_stopped_ = nullptr;
  for (const auto& listener : listeners)
    listener->close();
  for (auto* connection : connections_)
    connection->abort();
}

namespace {

Status check_host(const Listener& listener, const HttpRequest& request) {
  if (!listener.policy) return {};
  const auto host = request.headers.find("host");
  const auto origin = request.headers.find("origin");
  return listener.policy->check(host == request.headers.end() ? "" : host->second,
                                origin == request.headers.end() ? nullptr : &origin->second);
}

HttpResponse no_route(const Router::Match& match, const HttpRequest& request) {
  if (match.status != 405) return error_response(match.status, "not_found", "not found: " + request.path);
  auto response =
      error_response(match.status, "unsupported", request.path + " does not support " + request.method);
  response.headers.emplace_back("Allow", match.allow);
  return response;
}

}  // namespace

Admission admit(HttpServer::Core& core, const Listener& listener, const Peer& peer, const ReadRequest& head) {
  Admission admission;
  if (const auto allowed = check_host(listener, head.request); !allowed) {
    ++core.counters->hosts_refused;
    admission.refusal = error_response(allowed.error());
    return admission;
  }
  admission.match = core.router.find(head.request.method, head.segments);
  const Router::Match& match = admission.match;
  if (match.handler == nullptr)
    admission.refusal = no_route(match, head.request);
  else if (match.options.access == Access::local_socket && !peer.is_owner)
    admission.refusal = error_response(
        403, "denied", "send this request over the agent's Unix socket, as root or as the agent's user");
  else if (match.options.access == Access::verified_client && !peer.is_verified)
    admission.refusal =
        error_response(403, "denied", "this request needs a client certificate from a trusted authority");
  admission.body_bytes = match.options.body_bytes.value_or(core.limits.body_bytes);
  return admission;
}

}  // namespace autopilot::net
