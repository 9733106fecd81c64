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
#include "net/event_loop.hpp"
#include "net/http.hpp"
#include "net/tls.hpp"

namespace autopilot::net {

// Each has a counter in ServerStats. What goes beyond is refused, never queued without bound.
//
// Unix sockets keep a quarter of connections and event streams; clients of the network cannot use it up. When
// the rest is used up, the peer that holds most gives way to others, see Crowd.
struct ServerLimits {
  std::size_t connections = 512;         // one more takes the place of another, or is answered 503 and closed
  std::size_t header_bytes = 16 * 1024;  // request line and headers; beyond: 431
  std::size_t body_bytes = 64 * 1024;    // of routes that name no limit of their own; beyond: 413
  // Requests that arrive or are answered, and answers that were not yet taken; beyond: 503. Of TCP and of
  // Unix sockets each. What TLS and the kernel hold of a connection is not in it.
  std::size_t buffered_bytes = 16 * 1024 * 1024;
  std::size_t requests_per_connection = 10'000;
  std::size_t event_streams = 64;  // beyond: 503
  std::size_t stream_queue_events = 1024;
  std::size_t stream_queue_bytes = 1024 * 1024;  // events not yet taken by the client; beyond: it is cut
  Duration handshake_deadline = std::chrono::seconds{10};
  Duration read_deadline = std::chrono::seconds{10};    // from the first byte of a request to its last
  Duration idle_deadline = std::chrono::seconds{75};    // without a byte of a request
  Duration answer_deadline = std::chrono::seconds{60};  // for the handler; beyond: 504
  Duration write_deadline = std::chrono::seconds{10};   // for one answer, or one batch of events
  Duration keep_alive = std::chrono::seconds{15};       // comment on a quiet event stream
};

// Counters since construction, gauges where the name says `open`.
struct ServerStats {
  std::uint64_t connections_open = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;    // no room: the limit of connections was reached
  std::uint64_t connections_displaced = 0;  // closed while they waited for their client, in favour of others
  std::uint64_t accept_errors = 0;          // the system gave none: descriptors, memory
  std::uint64_t handshakes_failed = 0;      // no TLS, or a certificate that is not taken
  std::uint64_t handshakes_late = 0;        // the handshake deadline passed
  std::uint64_t requests = 0;               // complete ones that reached a route or its 404, 405, 403
  std::uint64_t responses_2xx = 0;
  std::uint64_t responses_4xx = 0;
  std::uint64_t responses_5xx = 0;
  std::uint64_t requests_malformed = 0;   // 400
  std::uint64_t headers_too_large = 0;    // 431
  std::uint64_t bodies_too_large = 0;     // 413
  std::uint64_t buffers_refused = 0;      // 503: no bytes were left
  std::uint64_t buffers_displaced = 0;    // 503 or closed: others needed the bytes more
  std::uint64_t buffered_bytes = 0;       // held now, by all listeners
  std::uint64_t buffered_bytes_most = 0;  // the most that was ever held
  std::uint64_t hosts_refused = 0;        // 403: Host or Origin
  std::uint64_t slow_readers_cut = 0;     // the write deadline passed
  std::uint64_t slow_senders_cut = 0;     // the read deadline passed: 408
  std::uint64_t idle_closed = 0;
  std::uint64_t requests_exhausted = 0;  // connections closed after their last allowed request
  std::uint64_t answers_late = 0;        // 504
  std::uint64_t answers_dropped = 0;     // a responder died unanswered: 500
  std::uint64_t streams_open = 0;
  std::uint64_t streams_refused = 0;
  std::uint64_t streams_displaced = 0;  // ended in favour of a peer with fewer
  std::uint64_t streams_cut = 0;        // the queue of a client that does not read was full
  std::uint64_t events_sent = 0;
};

// Defence against a browser that is led here under another name (DNS rebinding): a request must name this
// listener as localhost, a loopback address, the address it is bound to (any IP address when bound to all),
// or one of allowed_hosts; and an Origin, where given, must be the same host and port.
struct TcpPolicy {
  std::vector<std::string> allowed_hosts;  // names without port, any case
};

// Whom a route serves. everyone: every listener. local_socket: root and the user of this process over a Unix
// socket, others get 403. verified_client: clients inside TLS with a certificate that was verified, others
// get 403.
enum class Access : std::uint8_t { everyone, local_socket, verified_client };

struct RouteOptions {
  Access access = Access::everyone;
  std::optional<std::size_t> body_bytes = std::nullopt;  // none: ServerLimits::body_bytes
};

// The sending end of an answer that goes on: server-sent events. Thread-safe. Dropping it closes the stream
// once what was sent is out.
class EventStream {
 public:
  class State;

  EventStream() = default;  // closed
  explicit EventStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
  EventStream(EventStream&& other) noexcept = default;
  EventStream& operator=(EventStream&& other) noexcept;
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  ~EventStream();

  // False when the stream is closed, also by this call: a full queue means that the client does not read.
  bool send(const ServerEvent& event);
  void close();
  [[nodiscard]] bool is_open() const;
  // False while half of what a client may leave unread is: what can wait should. True when it is closed.
  [[nodiscard]] bool has_room() const;
  // Called once on the loop's thread after the connection went away, for whatever cause; soon, when it
  // already has. It is dropped with the stream.
  void on_close(std::function<void()> function);

 private:
  std::shared_ptr<State> state_;
};

// The right and the duty to answer one request, once, now or later, from any thread. Dropped unanswered it
// answers 500. Movable only; wrap it in a shared_ptr for a std::function.
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
  // Answers 200 and goes on. Beyond the limit of streams the client gets 503 and the stream is closed.
  [[nodiscard]] EventStream stream();

 private:
  std::shared_ptr<Ticket> ticket_;
};

// Runs on the loop's thread and must not block. The request lives only as long as the call.
using Handler = std::function<void(const HttpRequest& request, Responder responder)>;

// HTTP/1.1 and 1.0 with keep-alive and pipelining. All calls but stats() on the loop's thread, or while the
// loop does not run. Handlers are asked for GET when the request is HEAD.
class HttpServer {
 public:
  class Core;

  HttpServer(EventLoop& loop, ServerLimits limits);
  // Closes everything at once.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `pattern`: "/v1/checks/{id}"; a parameter is one whole segment. Literal segments win over parameters.
  // Host, path, method and peer are checked before a byte of the body is read.
  void route(std::string_view method, std::string_view pattern, Handler handler, RouteOptions options = {});

  // "127.0.0.1:3333", "[::1]:3333", "localhost:3333", ":3333" (all addresses); port 0: the system chooses.
  // Gives the port. conflict: the port is taken.
  [[nodiscard]] Result<std::uint16_t> listen_tcp(std::string_view address, TcpPolicy policy = {});
  // The same inside TLS. A request that came in tells by whom its client was verified, see Peer. tls: null:
  // nobody gets in before use().
  [[nodiscard]] Result<std::uint16_t> listen_tls(std::string_view address,
                                                 std::shared_ptr<const TlsContext> tls,
                                                 TcpPolicy policy = {});
  // Of all TLS listeners: what connections are made with from now on. Those that are open go on.
  void use(const std::shared_ptr<const TlsContext>& tls);
  // `mode`: permission bits, 0660. A socket left over by a dead process is replaced; conflict when somebody
  // listens there or the path is no socket. The socket file is removed when listening ends.
  [[nodiscard]] Status listen_unix(const std::string& path, unsigned mode);

  // Stops accepting, closes idle connections and event streams, lets requests in flight finish until `grace`
  // has passed, then closes them. `done` is called once on the loop's thread when no connection is left.
  void stop(Duration grace, std::function<void()> done);

  // From any thread.
  [[nodiscard]] ServerStats stats() const;

 private:
  Result<std::uint16_t> listen(std::string_view address, TcpPolicy policy, bool is_encrypted,
                               std::shared_ptr<const TlsContext> tls);

  std::shared_ptr<Core> core_;
};

}  // namespace autopilot::net
