// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "logging/metrics_text.hpp"
#include "net/event_loop.hpp"
#include "net/http.hpp"
#include "net/tls.hpp"

namespace autopilot::net {

// Each limit has a counter in ServerStats. A request beyond a limit is refused, never queued without bound.
//
// Unix sockets have a reserve of a quarter of the connections and event streams, so that network clients
// cannot use them up. When the rest is used up, the peer that holds most loses some; see Crowd.
struct ServerLimits {
  std::size_t connections = 512;         // beyond: displaces another one, or is answered 503 and closed
  std::size_t header_bytes = 16 * 1024;  // request line and headers; beyond: 431
  std::size_t body_bytes = 64 * 1024;    // default of routes without a limit of their own; beyond: 413
  // Bytes of requests being received or answered, and of responses not yet read by the client; beyond: 503.
  // Counted separately for TCP and for Unix sockets. Buffers of TLS and of the kernel are not included.
  std::size_t buffered_bytes = 16 * 1024 * 1024;
  std::size_t requests_per_connection = 10'000;
  std::size_t event_streams = 64;  // beyond: 503
  std::size_t stream_queue_events = 1024;
  std::size_t stream_queue_bytes =
      1024 * 1024;  // events that the client has not read; beyond: the stream is cut
  Duration handshake_deadline = std::chrono::seconds{10};
  Duration read_deadline = std::chrono::seconds{10};    // from the first byte of a request to its last
  Duration idle_deadline = std::chrono::seconds{75};    // without a byte of the next request
  Duration answer_deadline = std::chrono::seconds{60};  // for the handler; beyond: 504
  Duration write_deadline = std::chrono::seconds{10};   // of one response, or of one batch of events
  Duration keep_alive = std::chrono::seconds{15};       // interval of comments on a quiet event stream
};

// Counters since construction. Names with `open` are gauges.
struct ServerStats {
  std::uint64_t connections_open = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;  // the limit of connections was reached
  std::uint64_t connections_displaced =
      0;                                // closed while they waited for their client, to make room for others
  std::uint64_t accept_errors = 0;      // accept() failed: no descriptors or no memory
  std::uint64_t handshakes_failed = 0;  // not TLS, or a certificate that is not trusted
  std::uint64_t handshakes_late = 0;    // the handshake deadline passed
  std::uint64_t requests = 0;  // complete requests that reached a route, or were answered 404, 405 or 403
  std::uint64_t responses_2xx = 0;
  std::uint64_t responses_4xx = 0;
  std::uint64_t responses_5xx = 0;
  std::uint64_t requests_malformed = 0;   // 400
  std::uint64_t headers_too_large = 0;    // 431
  std::uint64_t bodies_too_large = 0;     // 413
  std::uint64_t buffers_refused = 0;      // 503: the limit of bytes was reached
  std::uint64_t buffers_displaced = 0;    // 503 or closed, to free bytes for others
  std::uint64_t buffered_bytes = 0;       // held now, by all listeners
  std::uint64_t buffered_bytes_most = 0;  // highest value of buffered_bytes
  std::uint64_t hosts_refused = 0;        // 403: Host or Origin
  std::uint64_t slow_readers_cut = 0;     // the write deadline passed
  std::uint64_t slow_senders_cut = 0;     // the read deadline passed: 408
  std::uint64_t idle_closed = 0;
  std::uint64_t requests_exhausted = 0;  // connections closed after their last allowed request
  std::uint64_t answers_late = 0;        // 504
  std::uint64_t answers_dropped = 0;     // a Responder was destroyed without an answer: 500
  std::uint64_t streams_open = 0;
  std::uint64_t streams_refused = 0;
  std::uint64_t streams_displaced = 0;  // ended to make room for a peer with fewer streams
  std::uint64_t streams_cut = 0;        // the client did not read and its queue was full
  std::uint64_t events_sent = 0;
};

// Protects against DNS rebinding, where a browser reaches this listener under another name. The Host header
// must name localhost, a loopback address, the bound address (any IP address if bound to all), or one of
// allowed_hosts. An Origin header must name the same host and port.
struct TcpPolicy {
  std::vector<std::string> allowed_hosts;  // names without port, in any case
};

// The clients that a route accepts. everyone: clients of every listener. local_socket: root and the user of
// this process over a Unix socket. verified_client: TLS clients with a verified certificate. Others get 403.
enum class Access : std::uint8_t { everyone, local_socket, verified_client };

struct RouteOptions {
  Access access = Access::everyone;
  std::optional<std::size_t> body_bytes = std::nullopt;  // not set: ServerLimits::body_bytes
};

// Sends server-sent events as the body of a response. Thread-safe. Destroying it closes the stream after the
// queued events are sent.
class EventStream {
 public:
  class State;

  EventStream() = default;  // a closed stream
  explicit EventStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
  EventStream(EventStream&& other) noexcept = default;
  EventStream& operator=(EventStream&& other) noexcept;
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  ~EventStream();

  // False if the stream is closed. A full queue closes it, because the client does not read.
  bool send(const ServerEvent& event);
  void close();
  [[nodiscard]] bool is_open() const;
  // False if at least half of the queue is used: postpone events that can wait. True if the stream is closed.
  [[nodiscard]] bool has_room() const;
  // The function is called once on the loop's thread after the connection ended for any reason; soon, if it
  // has ended already. It is destroyed with the stream.
  void on_close(std::function<void()> function);

 private:
  std::shared_ptr<State> state_;
};

// Answers one request exactly once, now or later, from any thread. If it is destroyed without an answer, it
// answers 500. Move-only; wrap it in a shared_ptr for a std::function.
class Responder {
 public:
  class Ticket;

  explicit Responder(std::shared_ptr<Ticket> ticket) : ticket_(std::move(ticket)) {}
  Responder(Responder&& other) noexcept = default;
  Responder& operator=(Responder&& other) noexcept;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder();

  void respond(HttpResponse response);
  // `{"error":{"code":..,"message":..}}` with the status that fits the code.
  void respond(const Error& error);
  // Answers 200 and keeps the response open. Beyond the limit of streams the client gets 503 and the returned
  // stream is closed.
  [[nodiscard]] EventStream stream();

 private:
  std::shared_ptr<Ticket> ticket_;
};

// Runs on the loop's thread and must not block. The request is valid only during the call.
using Handler = std::function<void(const HttpRequest& request, Responder responder)>;

// HTTP/1.1 and 1.0 server with keep-alive and pipelining. Call every function but stats() on the loop's
// thread, or while the loop does not run. A HEAD request runs the handler of GET.
class HttpServer {
 public:
  class Core;

  HttpServer(EventLoop& loop, ServerLimits limits);
  // Closes all connections immediately.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `pattern`: "/v1/checks/{id}"; a parameter is one whole segment. Literal segments take precedence over
  // parameters. Host, path, method and peer are checked before a byte of the body is read.
  void route(std::string_view method, std::string_view pattern, Handler handler, RouteOptions options = {});

  // Accepts "127.0.0.1:3333", "[::1]:3333", "localhost:3333" and ":3333" (all addresses). With port 0 the
  // system chooses a port. Returns the port. conflict: the port is in use.
  [[nodiscard]] Result<std::uint16_t> listen_tcp(std::string_view address, TcpPolicy policy = {});
  // The same over TLS. Peer states whether the client's certificate was verified. tls: null: all handshakes
  // are refused until use().
  [[nodiscard]] Result<std::uint16_t> listen_tls(std::string_view address,
                                                 std::shared_ptr<const TlsContext> tls,
                                                 TcpPolicy policy = {});
  // Replaces the context of all TLS listeners for new connections. Open connections keep the old one.
  void use(const std::shared_ptr<const TlsContext>& tls);
  // `mode`: permission bits, such as 0660. Replaces the socket of a dead process. conflict: a program listens
  // on the path, or the path is not a socket. The socket file is removed when listening ends.
  [[nodiscard]] Status listen_unix(const std::string& path, unsigned mode);

  // Stops accepting, closes idle connections and event streams, and lets requests in flight finish until
  // `grace` has passed; then closes them. `done` is called once on the loop's thread when all connections are
  // closed.
  void stop(Duration grace, std::function<void()> done);

  // From any thread.
  [[nodiscard]] ServerStats stats() const;

 private:
  Result<std::uint16_t> listen(std::string_view address, TcpPolicy policy, bool is_encrypted,
                               std::shared_ptr<const TlsContext> tls);

  std::shared_ptr<Core> core_;
};

// The metric families autopilot_http_*: responses and refusals of a server.
void add_server_metrics(logging::MetricsText& metrics, const ServerStats& server);

}  // namespace autopilot::net
