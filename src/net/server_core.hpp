// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "net/crowd.hpp"
#include "net/http_server.hpp"
#include "net/message_reader.hpp"
#include "net/router.hpp"

namespace autopilot::net {

class Connection;
class Listener;

// Written on the loop's thread and by senders of streams, read by any thread.
struct Counters {
  std::atomic<std::uint64_t> connections_open{0};
  std::atomic<std::uint64_t> connections_accepted{0};
  std::atomic<std::uint64_t> connections_refused{0};
  std::atomic<std::uint64_t> connections_displaced{0};
  std::atomic<std::uint64_t> accept_errors{0};
  std::atomic<std::uint64_t> handshakes_failed{0};
  std::atomic<std::uint64_t> handshakes_late{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> responses_2xx{0};
  std::atomic<std::uint64_t> responses_4xx{0};
  std::atomic<std::uint64_t> responses_5xx{0};
  std::atomic<std::uint64_t> requests_malformed{0};
  std::atomic<std::uint64_t> headers_too_large{0};
  std::atomic<std::uint64_t> bodies_too_large{0};
  std::atomic<std::uint64_t> buffers_refused{0};
  std::atomic<std::uint64_t> buffers_displaced{0};
  std::atomic<std::uint64_t> buffered_bytes{0};
  std::atomic<std::uint64_t> buffered_bytes_most{0};
  std::atomic<std::uint64_t> hosts_refused{0};
  std::atomic<std::uint64_t> slow_readers_cut{0};
  std::atomic<std::uint64_t> slow_senders_cut{0};
  std::atomic<std::uint64_t> idle_closed{0};
  std::atomic<std::uint64_t> requests_exhausted{0};
  std::atomic<std::uint64_t> answers_late{0};
  std::atomic<std::uint64_t> answers_dropped{0};
  std::atomic<std::uint64_t> streams_open{0};
  std::atomic<std::uint64_t> streams_refused{0};
  std::atomic<std::uint64_t> streams_displaced{0};
  std::atomic<std::uint64_t> streams_cut{0};
  std::atomic<std::uint64_t> events_sent{0};

  [[nodiscard]] ServerStats read() const;
};

// State that the connections and listeners of one server share. On the loop's thread.
class HttpServer::Core : public std::enable_shared_from_this<HttpServer::Core> {
 public:
  Core(std::shared_ptr<LoopState> loop_state, ServerLimits server_limits);

  // The share of a limit for one crowd: a quarter is reserved for Unix sockets if the server has both kinds.
  [[nodiscard]] std::size_t share_of(const Crowd& crowd, std::size_t all) const;
  // Call after a connection holds more or fewer bytes.
  void note_bytes();
  void add(Connection& connection);
  void forget(Connection& connection);
  void stop(Duration grace, std::function<void()> done);
  void abort();

  const std::shared_ptr<LoopState> loop;
  const ServerLimits limits;
  const std::shared_ptr<Counters> counters = std::make_shared<Counters>();
  Router router;
  Crowd network_crowd;  // of TCP, plain and TLS
  Crowd local_crowd;    // of Unix sockets
  std::vector<std::shared_ptr<Listener>> listeners;
  bool is_stopping = false;

 private:
  void finish_if_empty();

  std::unordered_set<Connection*> connections_;
  std::function<void()> on_stopped_;
  std::unique_ptr<boost::asio::steady_timer> grace_timer_;
};

// The decision about a request, made from its head before the body is read.
struct Admission {
  Router::Match match;                  // the matched route; has no handler if the request is refused
  std::size_t body_bytes = 0;           // the largest body that the route accepts
  std::optional<HttpResponse> refusal;  // set if the host, origin, path, method or peer is refused
};

// Runs on the loop's thread. Counts each refused Host or Origin header.
[[nodiscard]] Admission admit(HttpServer::Core& core, const Listener& listener, const Peer& peer,
                              const ReadRequest& head);

}  // namespace autopilot::net
