// SPDX-License-Identifier: Apache-2.0
#include "net/server_stream.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <utility>

#include "net/awaited.hpp"
#include "net/tls_state.hpp"

namespace autopilot::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// The kernel accepts as many bytes as it has room for. With the library's limit of 64 KiB, a large response
// would need many turns of the loop.
constexpr std::size_t kWrittenAtOnce = std::size_t{4} << 20;

bool is_plain_http(const error_code& error) {
  return error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

}  // namespace

ServerStream::ServerStream(Socket socket, std::shared_ptr<const TlsContext> tls)
    : socket_(std::move(socket)), tls_context_(std::move(tls)) {
  if (tls_context_) tls_ = std::make_unique<Tls>(socket_, *tls_context_->state().context);
}

asio::awaitable<ServerStream::Handshake> ServerStream::shake_hands() {
  if (!tls_) co_return Handshake::done;
  const auto [error] = co_await tls_->async_handshake(asio::ssl::stream_base::server, kToken);
  if (!error) co_return Handshake::done;
  is_broken_ = true;
  co_return is_plain_http(error) ? Handshake::client_speaks_http : Handshake::failed;
}

bool ServerStream::is_client_verified() const {
  return tls_ && is_verified(tls_->native_handle());
}

std::vector<std::string> ServerStream::client_names() const {
  if (!tls_) return {};
  return verified_names(tls_->native_handle());
}

asio::awaitable<std::size_t> ServerStream::read_some(std::string* buffer) {
  const auto room = asio::buffer(chunk_);
  error_code failed;
  std::size_t taken = 0;
  if (tls_) {
    const auto [error, count] = co_await tls_->async_read_some(room, kToken);
    failed = error;
    taken = count;
  } else {
    const auto [error, count] = co_await socket_.async_read_some(room, kToken);
    failed = error;
    taken = count;
  }
  if (failed) co_return 0;
  buffer->append(chunk_.data(), taken);
  co_return taken;
}

asio::awaitable<bool> ServerStream::write(std::string head, std::shared_ptr<const std::string> body) {
  const asio::const_buffer rest = body ? asio::buffer(*body) : asio::const_buffer();
  const std::array<asio::const_buffer, 2> parts = {asio::buffer(head), rest};
  const auto all_at_once = [](error_code error, std::size_t) { return error ? 0 : kWrittenAtOnce; };
  if (tls_) {
    const auto [error, count] = co_await asio::async_write(*tls_, parts, all_at_once, kToken);
    if (error) is_broken_ = true;
  } else {
    const auto [error, count] = co_await asio::async_write(socket_, parts, all_at_once, kToken);
    if (error) is_broken_ = true;
  }
  co_return !is_broken_;
}

void ServerStream::end_sending() {
  if (tls_) return;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

asio::awaitable<void> ServerStream::end() {
  if (!tls_ || is_broken_) co_return;
  co_await tls_->async_shutdown(kToken);
}

void ServerStream::say_in_the_clear(const std::string& text) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.write_some(asio::buffer(text), ignored);
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void ServerStream::cancel() {
  error_code ignored;
  socket_.cancel(ignored);
}

void ServerStream::close() {
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace autopilot::net
