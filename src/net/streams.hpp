// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "net/tls.hpp"

namespace autopilot::net {

// Makes co_await return the error beside the result instead of throwing. Only for sources of this folder.
inline constexpr auto kToken = boost::asio::as_tuple(boost::asio::use_awaitable);

// One connection to a server, over plain TCP or TLS. Use it on the loop's thread. Awaited calls return an
// error after close().
class ClientStream {
 public:
  // tls: null for plain TCP.
  ClientStream(boost::asio::io_context& context, std::shared_ptr<const TlsContext> tls);

  // Resolves the name, connects, and does the TLS handshake. unavailable: the server does not answer. denied:
  // the server's certificate is not trusted, or the server refuses the client.
  boost::asio::awaitable<Status> connect(std::string host, std::uint16_t port);
  boost::asio::awaitable<Status> write(std::string text);
  // Appends received bytes to `buffer`. False: the server has closed the connection.
  boost::asio::awaitable<Result<bool>> read_some();
  [[nodiscard]] std::string& buffer() { return buffer_; }

  void close();
  // True if nothing arrived since the last response, not even the end of the connection, so that another
  // request can be sent.
  [[nodiscard]] bool is_quiet();
  [[nodiscard]] bool is_closed() const { return !socket_.is_open(); }

 private:
  using Tcp = boost::asio::ip::tcp;
  using Tls = boost::asio::ssl::stream<Tcp::socket&>;

  boost::asio::awaitable<Result<std::vector<Tcp::endpoint>>> look_up(std::string host, std::uint16_t port);
  boost::asio::awaitable<Status> shake_hands(Tls* tls, std::string host);

  Tcp::socket socket_;
  Tcp::resolver resolver_;
  std::shared_ptr<const TlsContext> tls_context_;
  std::optional<Tls> tls_;
  std::array<char, 16384> chunk_;
  std::string buffer_;
};

using Socket = boost::asio::generic::stream_protocol::socket;

// One connection of a client, over plain TCP or TLS. Use it on the loop's thread. Awaited calls must end
// before the object is destroyed, and end soon after cancel() or close().
class ServerStream {
 public:
  enum class Handshake { done, failed, client_speaks_http };

  // tls: null for plain TCP.
  ServerStream(Socket socket, std::shared_ptr<const TlsContext> tls);
  ~ServerStream() = default;
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // Must be the first call; for plain TCP it completes immediately.
  boost::asio::awaitable<Handshake> shake_hands();
  [[nodiscard]] bool is_client_verified() const;
  // DNS names of the client's certificate; empty without one.
  [[nodiscard]] std::vector<std::string> client_names() const;

  // Appends received bytes to `buffer` and returns their number; 0: the client closed, the connection broke,
  // or cancel() was called.
  boost::asio::awaitable<std::size_t> read_some(std::string* buffer);
  // body: null for an empty body.
  boost::asio::awaitable<bool> write(std::string head, std::shared_ptr<const std::string> body);
  // Shuts down the sending side; the client can still send. With TLS, end() does this.
  void end_sending();
  // With TLS: sends close_notify and waits for that of the client.
  boost::asio::awaitable<void> end();

  // Writes plain text instead of TLS, as the last output; the client receives it only if its buffer has room
  // at once.
  void say_in_the_clear(const std::string& text);

  // Ends the awaited call.
  void cancel();
  void close();
  [[nodiscard]] boost::asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
  using Tls = boost::asio::ssl::stream<Socket&>;

  Socket socket_;
  std::shared_ptr<const TlsContext> tls_context_;
  std::unique_ptr<Tls> tls_;  // null for plain TCP, as most connections are
  bool is_broken_ = false;    // a record was truncated: later bytes cannot be decrypted
  std::array<char, 4096> chunk_;
};

}  // namespace autopilot::net
