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

// One connection to a server, in the clear or inside TLS. On the loop's thread; what is awaited ends with an
// error once close() was called.
class ClientStream {
 public:
  // tls: null for a connection in the clear.
  ClientStream(boost::asio::io_context& context, std::shared_ptr<const TlsContext> tls);

  // Looks the name up, connects, and shakes hands. unavailable: nobody answers; denied: the server is not who
  // it should be, or it does not want this client.
  boost::asio::awaitable<Status> connect(std::string host, std::uint16_t port);
  boost::asio::awaitable<Status> write(std::string text);
  // Appends what has come to `buffer`; false: the server has ended the connection.
  boost::asio::awaitable<Result<bool>> read_some();
  [[nodiscard]] std::string& buffer() { return buffer_; }

  void close();
  // Nothing came since the last answer, not even the end: another request may go out.
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
