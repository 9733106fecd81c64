// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "net/tls.hpp"

namespace autopilot::net {

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

}  // namespace autopilot::net
