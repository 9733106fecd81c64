// SPDX-License-Identifier: Apache-2.0

#include "net/http_server.hpp"

#include <cstdint>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include "net/listener.hpp"
#include "net/loop_state.hpp"
#include "net/server_core.hpp"
#include "net/url.hpp"

namespace autopilot::net {

using boost::asio::generic::stream_protocol;

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

using logging::MetricType;

void add_server_metrics(logging::MetricsText& metrics, const ServerStats& server) {
  metrics.family("autopilot_http_connections_open", MetricType::gauge, "Open connections.");
  metrics.sample(static_cast<double>(server.connections_open));
  metrics.family("autopilot_http_streams_open", MetricType::gauge, "Open event streams.");
  metrics.sample(static_cast<double>(server.streams_open));
  metrics.family("autopilot_http_buffered_bytes", MetricType::gauge,
                 "Bytes of requests and responses held by connections.");
  metrics.sample(static_cast<double>(server.buffered_bytes));
  metrics.family("autopilot_http_buffered_bytes_most", MetricType::gauge,
                 "Highest number of bytes of requests and responses held at one time.");
  metrics.sample(static_cast<double>(server.buffered_bytes_most));
  metrics.family("autopilot_http_responses_total", MetricType::counter,
                 "Responses, by the class of their status code.");
  metrics.sample({{"class", "2xx"}}, static_cast<double>(server.responses_2xx));
  metrics.sample({{"class", "4xx"}}, static_cast<double>(server.responses_4xx));
  metrics.sample({{"class", "5xx"}}, static_cast<double>(server.responses_5xx));
  metrics.family("autopilot_http_handshakes_failed_total", MetricType::counter,
                 "Connections to a TLS port that did not use TLS, or that sent an untrusted certificate.");
  metrics.sample(static_cast<double>(server.handshakes_failed));
  metrics.family("autopilot_http_limited_total", MetricType::counter,
                 "Connections, requests and streams that were refused or ended, by limit or rule.");
  const auto limited = [&metrics](std::string_view limit, std::uint64_t count) {
    metrics.sample({{"limit", limit}}, static_cast<double>(count));
  };
  limited("connections", server.connections_refused);
  limited("connections_share", server.connections_displaced);
  limited("descriptors", server.accept_errors);
  limited("header_bytes", server.headers_too_large);
  limited("body_bytes", server.bodies_too_large);
  limited("buffered_bytes", server.buffers_refused);
  limited("buffered_bytes_share", server.buffers_displaced);
  limited("malformed", server.requests_malformed);
  limited("host", server.hosts_refused);
  limited("handshake_deadline", server.handshakes_late);
  limited("read_deadline", server.slow_senders_cut);
  limited("write_deadline", server.slow_readers_cut);
  limited("idle_deadline", server.idle_closed);
  limited("requests_per_connection", server.requests_exhausted);
  limited("answer_deadline", server.answers_late);
  limited("event_streams", server.streams_refused);
  limited("event_streams_share", server.streams_displaced);
  limited("stream_queue", server.streams_cut);
}

}  // namespace autopilot::net
