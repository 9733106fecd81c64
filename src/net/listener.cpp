// SPDX-License-Identifier: Apache-2.0
#include "net/listener.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "net/awaited.hpp"
#include "net/connection.hpp"
#include "net/response_head.hpp"

namespace autopilot::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Pause after accept() fails (no descriptors or memory): the cause seldom disappears immediately.
constexpr Duration kAcceptPause = std::chrono::milliseconds{100};

void refuse(Socket socket) {
  const HttpResponse response = too_many_connections();
  const std::string text = format_head(response, Framing()) + response.body;
  ServerStream(std::move(socket), nullptr).say_in_the_clear(text);
}

void admit(const std::shared_ptr<HttpServer::Core>& core, const std::shared_ptr<Listener>& listener,
           Socket socket) {
  Peer peer = peer_of(socket.native_handle());
  const std::size_t most = core->share_of(listener->crowd, core->limits.connections);
  const Room room = listener->crowd.room_for_connection(peer_key(peer), most);
  if (!room.is_there) {
    ++core->counters->connections_refused;
    if (!listener->is_encrypted) refuse(std::move(socket));
    return;
  }
  if (room.instead_of != nullptr) room.instead_of->connection->displace();
  ++core->counters->connections_accepted;
  if (listener->is_encrypted && !listener->tls) {
    ++core->counters->handshakes_failed;
    return;
  }
  if (!peer.is_local_socket) set_no_delay(socket.native_handle());
  peer.is_encrypted = listener->is_encrypted;
  std::make_shared<Connection>(std::move(socket), core, listener, std::move(peer))->start();
}

asio::awaitable<void> accept_connections(std::shared_ptr<HttpServer::Core> core,
                                         std::shared_ptr<Listener> listener) {
  asio::steady_timer pause(listener->acceptor.get_executor());
  while (listener->acceptor.is_open()) {
    Socket socket(listener->acceptor.get_executor());
    const auto [error] = co_await listener->acceptor.async_accept(socket, kToken);
    if (!listener->acceptor.is_open()) break;
    if (!error) {
      admit(core, listener, std::move(socket));
      continue;
    }
    ++core->counters->accept_errors;
    pause.expires_after(kAcceptPause);
    co_await pause.async_wait(kToken);
  }
}

}  // namespace

void Listener::close() {
  error_code ignored;
  acceptor.close(ignored);
  if (socket_file) remove_socket_file(*socket_file);
}

void start_accepting(std::shared_ptr<HttpServer::Core> core, std::shared_ptr<Listener> listener) {
  const auto executor = listener->acceptor.get_executor();
  asio::co_spawn(executor, accept_connections(std::move(core), std::move(listener)),
                 [](const std::exception_ptr& error) {
                   if (error) std::rethrow_exception(error);
                 });
}

}  // namespace autopilot::net
