// SPDX-License-Identifier: Apache-2.0

#include "net/streams.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <utility>

#include "net/tls_state.hpp"

namespace autopilot::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

tl::unexpected<Error> broken(const error_code& error) {
  return fail(Errc::unavailable, error.message());
}

bool has_hung_up(const error_code& error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated ||
         error == asio::error::connection_reset || error == asio::error::broken_pipe;
}

bool is_address(const std::string& host) {
  error_code error;
  static_cast<void>(asio::ip::make_address(host, error));
  return !error;
}

}  // namespace

ClientStream::ClientStream(asio::io_context& context, std::shared_ptr<const TlsContext> tls)
    : socket_(context), resolver_(context), tls_context_(std::move(tls)) {
  if (tls_context_) tls_.emplace(socket_, *tls_context_->state().context);
}

asio::awaitable<Status> ClientStream::connect(std::string host, std::uint16_t port) {
  auto endpoints = co_await look_up(host, port);
  if (!endpoints) co_return fail(std::move(endpoints).error());
  const auto [error, endpoint] = co_await asio::async_connect(socket_, *endpoints, kToken);
  if (error == asio::error::connection_refused)
    co_return fail(Errc::unavailable, "connection refused: no program listens on this address");
  if (error) co_return broken(error);
  error_code ignored;
  socket_.set_option(Tcp::no_delay(true), ignored);
  if (tls_) co_return co_await shake_hands(&*tls_, std::move(host));
  co_return Status();
}

asio::awaitable<Result<std::vector<asio::ip::tcp::endpoint>>> ClientStream::look_up(std::string host,
                                                                                    std::uint16_t port) {
  std::vector<Tcp::endpoint> endpoints;
  error_code no_address;
  const auto address = asio::ip::make_address(host, no_address);
  if (!no_address) {
    endpoints.emplace_back(address, port);
    co_return endpoints;
  }
  const auto service = std::to_string(port);
  const auto [error, found] = co_await resolver_.async_resolve(host, service, kToken);
  if (error) co_return fail(Errc::unavailable, "cannot resolve the name " + host + ": " + error.message());
  endpoints.assign(found.begin(), found.end());
  co_return endpoints;
}

asio::awaitable<Status> ClientStream::shake_hands(Tls* tls, std::string host) {
  const auto& trusted = tls_context_->state();
  if (!trusted.server_name.empty()) host = trusted.server_name;
  if (!trusted.trusts_any_server) tls->set_verify_callback(asio::ssl::host_name_verification(host));
  // SNI needs a host name; RFC 6066 does not allow an IP address.
  if (!is_address(host))
    SSL_ctrl(tls->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data());
  const auto [error] = co_await tls->async_handshake(asio::ssl::stream_base::client, kToken);
  if (!error) co_return Status();
  const long verified = SSL_get_verify_result(tls->native_handle());
  // The error text then states that the server's certificate has other names.
  if (verified == X509_V_ERR_UNSPECIFIED)
    co_return fail(Errc::denied, "the server's certificate is not trusted: it does not name " + host);
  if (verified != X509_V_OK)
    co_return fail(Errc::denied, std::string("the server's certificate is not trusted: ") +
                                     X509_verify_cert_error_string(verified));
  if (error.category() == asio::error::get_ssl_category())
    co_return fail(Errc::denied, "TLS: " + error.message());
  if (has_hung_up(error))
    co_return fail(Errc::unavailable, "the server closed the connection before the TLS handshake");
  co_return broken(error);
}

asio::awaitable<Status> ClientStream::write(std::string text) {
  const auto bytes = asio::buffer(text);
  if (tls_) {
    const auto [error, count] = co_await asio::async_write(*tls_, bytes, kToken);
    if (error) co_return broken(error);
  } else {
    const auto [error, count] = co_await asio::async_write(socket_, bytes, kToken);
    if (error) co_return broken(error);
  }
  co_return Status();
}

// The static analyzer warns about a coroutine frame inside a header of Asio, where a comment of this project
// cannot suppress the warning.
#ifndef __clang_analyzer__
asio::awaitable<Result<bool>> ClientStream::read_some() {
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
  buffer_.append(chunk_.data(), taken);
  if (!failed) co_return true;
  // Most servers close TCP without closing TLS first. The reader notices a truncated response by its length.
  if (failed == asio::error::eof || failed == asio::ssl::error::stream_truncated) co_return taken > 0;
  // A server reports only at this point that it refuses the client's certificate.
  if (failed.category() == asio::error::get_ssl_category())
    co_return fail(Errc::denied, "TLS: " + failed.message());
  co_return broken(failed);
}
#endif

bool ClientStream::is_quiet() {
  char next = 0;
  return ::recv(socket_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void ClientStream::close() {
  resolver_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

namespace asio = boost::asio;

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
