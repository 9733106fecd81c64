// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "net/tls.hpp"

namespace autopilot::net {

using Socket = boost::asio::generic::stream_protocol::socket;

// One connection of a client, in the clear or inside TLS. On the loop's thread; what is awaited must end
// before this does, and ends soon after cancel() or close().
class ServerStream {
 public:
  enum class Handshake { done, failed, client_speaks_http };

  // tls: null for a connection in the clear.
  ServerStream(Socket socket, std::shared_ptr<const TlsContext> tls);
  ~ServerStream() = default;
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // First of all; in the clear it is done at once.
  boost::asio::awaitable<Handshake> shake_hands();
  [[nodiscard]] bool is_client_verified() const;
  // Of the certificate that the client has shown; none without one.
  [[nodiscard]] std::vector<std::string> client_names() const;

  // Appends what has come to `buffer` and says how much; 0: the client ended, the connection broke, or
  // cancel() was called.
  boost::asio::awaitable<std::size_t> read_some(std::string* buffer);
  // body: null for none.
  boost::asio::awaitable<bool> write(std::string head, std::shared_ptr<const std::string> body);
  // Tells the client that nothing more comes; it may still send. Inside TLS that is part of end().
  void end_sending();
  // Inside TLS: says that this is the end, and waits until the client has said so too.
  boost::asio::awaitable<void> end();

  // Outside of TLS, and the last of all: the client learns it if its buffer takes it at once.
  void say_in_the_clear(const std::string& text);

  // Ends what is awaited.
  void cancel();
  void close();
  [[nodiscard]] boost::asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
  using Tls = boost::asio::ssl::stream<Socket&>;

  Socket socket_;
  std::shared_ptr<const TlsContext> tls_context_;
  std::unique_ptr<Tls> tls_;  // most connections have none
  bool is_broken_ = false;    // a record was cut: nothing that follows makes sense
  std::array<char, 4096> chunk_;
};

}  // namespace autopilot::net
