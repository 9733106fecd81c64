// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <memory>
#include <optional>

#include "net/crowd.hpp"
#include "net/host_policy.hpp"
#include "net/server_core.hpp"
#include "net/sockets.hpp"

namespace autopilot::net {

using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

// One listening socket and the rules for the connections that it accepts. Use it on the loop's thread.
class Listener {
 public:
  Listener(Acceptor listening, Crowd& of) : acceptor(std::move(listening)), crowd(of) {}

  void close();

  Acceptor acceptor;
  std::optional<HostPolicy> policy;          // set for TCP
  std::optional<UnixListening> socket_file;  // set for a Unix socket; the acceptor owns its descriptor
  bool is_encrypted = false;
  std::shared_ptr<const TlsContext> tls;  // for new connections; null: TLS handshakes are refused
  Crowd& crowd;                           // counts the open connections
};

// Accepts until the listener is closed.
void start_accepting(std::shared_ptr<HttpServer::Core> core, std::shared_ptr<Listener> listener);

}  // namespace autopilot::net
