// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "net/crowd.hpp"
#include "net/http.hpp"
#include "net/http_server.hpp"
#include "net/message_reader.hpp"
#include "net/message_text.hpp"
#include "net/responder.hpp"
#include "net/server_core.hpp"
#include "net/streams.hpp"

namespace autopilot::net {

// The connection of one client. It reads a request, calls its handler, writes the response, and repeats. Runs
// on the loop's thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, std::shared_ptr<HttpServer::Core> core, std::shared_ptr<Listener> listener,
             Peer peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  // Ends after the request in flight, or immediately if there is none.
  void wind_down();
  // Ends immediately.
  void abort();
  // Ends immediately to make room for another connection.
  void displace();
  // Drops the request being received, or the response not yet read by the client, to free its bytes for other
  // connections.
  void give_up_bytes();
  // Signals that the stream has work for the connection.
  void wake();

  // Delivers the response to the request with that number; drops it if that request was answered before.
  void deliver(std::uint64_t request, HttpResponse response);
  void deliver(std::uint64_t request, std::shared_ptr<EventStream::State> stream);

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<Connection> self);
  static boost::asio::awaitable<void> watch_for_end(std::shared_ptr<Connection> self);
  boost::asio::awaitable<bool> shake_hands();
  // False if the client closed the connection or was refused.
  boost::asio::awaitable<bool> read_request();
  boost::asio::awaitable<void> refuse_unread();
  boost::asio::awaitable<void> wait_for_answer();
  boost::asio::awaitable<bool> send_answer();
  boost::asio::awaitable<void> send_events();
  boost::asio::awaitable<void> refuse(HttpResponse response);
  boost::asio::awaitable<void> linger();
  boost::asio::awaitable<void> end();
  boost::asio::awaitable<std::size_t> read_some();
  boost::asio::awaitable<bool> write(std::string head, std::shared_ptr<const std::string> body = nullptr);

  // Uses the received bytes. False: the request is refused, see refusal_.
  bool take_bytes();
  bool take_head();
  bool note_refusal();
  // True if that many bytes are available for this connection; other connections can be closed for them.
  bool hold(std::size_t bytes);
  void dispatch();
  void answer(HttpResponse response);
  [[nodiscard]] Framing framing(bool has_open_end) const;
  void count(int status);
  void arm(Duration delay);
  void disarm();
  void finish();

  ServerStream socket_;
  const std::shared_ptr<HttpServer::Core> core_;
  const std::shared_ptr<Listener> listener_;
  Peer peer_;

  boost::asio::steady_timer deadline_;  // on expiry, cancels the pending operation of the socket
  std::uint64_t armed_ = 0;             // distinguishes an old deadline from the current one
  bool is_timed_out_ = false;
  boost::asio::steady_timer wake_;

  Guest guest_;

  std::string buffer_;  // received, not yet used
  std::optional<RequestReader> reader_;
  std::optional<ReadRequest> read_;      // set when the head of the request is complete
  Admission admission_;                  // decision made from the head
  std::optional<HttpResponse> refusal_;  // response to a request that is not read to its end
  bool is_idle_ = true;                  // no byte of the next request has arrived
  bool is_ended_ = false;
  std::size_t served_ = 0;

  std::uint64_t request_ = 0;  // number of the request being answered
  unsigned minor_version_ = 1;
  bool is_keep_alive_ = false;
  bool is_head_ = false;
  std::optional<HttpResponse> answer_;
  std::shared_ptr<EventStream::State> stream_;
};

}  // namespace autopilot::net
