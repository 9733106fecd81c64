// SPDX-License-Identifier: Apache-2.0
#include "net/server_metrics.hpp"

#include <cstdint>
#include <string_view>

namespace autopilot::net {

using telemetry::MetricType;

void add_server_metrics(telemetry::MetricsText& metrics, const ServerStats& server) {
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
