// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.hpp"

#include <algorithm>
#include <sys/socket.h>
#include <utility>

#include "net/address.hpp"
#include "net/connection.hpp"
#include "net/listener.hpp"
#include "net/loop_state.hpp"
#include "net/server_core.hpp"
#include "net/sockets.hpp"

namespace autopilot::net {

using boost::asio::generic::stream_protocol;

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

HttpServer::HttpServer(EventLoop& loop, ServerLimits limits)
    : core_(std::make_shared<Core>(loop.state(), limits)) {}

HttpServer::~HttpServer() {
  core_->abort();
}

void HttpServer::route(std::string_view method, std::string_view pattern, Handler handler,
                       RouteOptions options) {
  core_->router.add(method, pattern, std::move(handler), options);
}

Result<std::uint16_t> HttpServer::listen_tcp(std::string_view address, TcpPolicy policy) {
  return listen(address, std::move(policy), false, nullptr);
}

Result<std::uint16_t> HttpServer::listen_tls(std::string_view address, std::shared_ptr<const TlsContext> tls,
                                             TcpPolicy policy) {
  return listen(address, std::move(policy), true, std::move(tls));
}

void HttpServer::use(const std::shared_ptr<const TlsContext>& tls) {
  for (const auto& listener : core_->listeners)
    if (listener->is_encrypted) listener->tls = tls;
}

Result<std::uint16_t> HttpServer::listen(std::string_view address, TcpPolicy policy, bool is_encrypted,
                                         std::shared_ptr<const TlsContext> tls) {
  const IpPort wanted = TRY(parse_ip_port(address));
  auto listening = TRY(listen_on_tcp(wanted));
  const int family = listening.bound.address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  Acceptor acceptor(*core_->loop->context, stream_protocol(family, 0), listening.socket.release());
  auto listener = std::make_shared<Listener>(std::move(acceptor), core_->network_crowd);
  listener->policy.emplace(listening.bound.address, std::move(policy.allowed_hosts),
                           is_encrypted ? "https" : "http");
  listener->is_encrypted = is_encrypted;
  listener->tls = std::move(tls);
  core_->listeners.push_back(listener);
  start_accepting(core_, std::move(listener));
  return listening.bound.port;
}

Status HttpServer::listen_unix(const std::string& path, unsigned mode) {
  auto listening = TRY(listen_on_unix(path, mode));
  Acceptor acceptor(*core_->loop->context, stream_protocol(AF_UNIX, 0), listening.socket.release());
  auto listener = std::make_shared<Listener>(std::move(acceptor), core_->local_crowd);
  listener->socket_file = std::move(listening);
  core_->listeners.push_back(listener);
  start_accepting(core_, std::move(listener));
  return {};
}

void HttpServer::stop(Duration grace, std::function<void()> done) {
  core_->stop(grace, std::move(done));
}

ServerStats HttpServer::stats() const {
  return core_->counters->read();
}

}  // namespace autopilot::net
