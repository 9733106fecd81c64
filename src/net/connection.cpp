// SPDX-License-Identifier: Apache-2.0
#include "net/connection.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "net/awaited.hpp"
#include "net/listener.hpp"
#include "net/responder.hpp"

namespace autopilot::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// How long a refused client may go on sending before it is shut out; what it sends is thrown away.
constexpr Duration kLinger = std::chrono::seconds{2};

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<HttpServer::Core> core,
                       std::shared_ptr<Listener> listener, Peer peer)
    : socket_(std::move(socket), listener->tls),
      core_(std::move(core)),
      listener_(std::move(listener)),
      peer_(std::move(peer)),
      deadline_(socket_.executor()),
      wake_(socket_.executor()) {
  ++listener_->connections;
  core_->add(*this);
}

Connection::~Connection() {
  --listener_->connections;
  core_->forget(*this);
}

void Connection::start() {
  asio::co_spawn(socket_.executor(), run(shared_from_this()), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
}

asio::awaitable<void> Connection::run(std::shared_ptr<Connection> self) {
  bool goes_on = co_await self->shake_hands();
  while (goes_on) {
    auto read = co_await self->read_request();
    if (!read) break;
    self->dispatch(std::move(*read));
    co_await self->wait_for_answer();
    goes_on = co_await self->send_answer();
  }
  co_await self->end();
  self->finish();
}

asio::awaitable<bool> Connection::shake_hands() {
  arm(core_->limits.handshake_deadline);
  const auto shaken = co_await socket_.shake_hands();
  disarm();
  if (shaken == ServerStream::Handshake::done) {
    peer_.names = socket_.client_names();
    co_return true;
  }
  if (is_ended_) co_return false;
  ++(is_timed_out_ ? core_->counters->handshakes_late : core_->counters->handshakes_failed);
  if (shaken == ServerStream::Handshake::client_speaks_http) {
    const HttpResponse response = error_response(400, "malformed", "this port speaks TLS alone: https://");
    socket_.say_in_the_clear(format_head(response, Framing()) + response.body);
  }
  co_return false;
}

asio::awaitable<std::optional<Result<ReadRequest>>> Connection::read_request() {
  RequestReader reader(core_->limits.header_bytes, core_->limits.body_bytes);
  is_idle_ = true;
  arm(core_->limits.idle_deadline);
  while (!is_ended_) {
    if (!buffer_.empty()) {
      if (std::exchange(is_idle_, false)) arm(core_->limits.read_deadline);
      buffer_.erase(0, reader.feed(buffer_));
    }
    if (reader.is_complete()) {
      disarm();
      co_return reader.take();
    }
    if (reader.refusal() != RequestReader::Refusal::none) break;
    if (core_->is_stopping && is_idle_) co_return std::nullopt;
    if (reader.take_expects_continue()) {
      const bool sent = co_await write("HTTP/1.1 100 Continue\r\n\r\n", "");
      if (!sent) co_return std::nullopt;
      arm(core_->limits.read_deadline);
    }
    const std::size_t count = co_await read_some();
    if (count > 0) continue;
    if (!is_timed_out_ || is_ended_) co_return std::nullopt;
    if (is_idle_) {
      ++core_->counters->idle_closed;
    } else {
      ++core_->counters->slow_senders_cut;
      co_await refuse(408, "timed_out", "the request did not arrive in time");
    }
    co_return std::nullopt;
  }
  if (is_ended_) co_return std::nullopt;
  switch (reader.refusal()) {
    case RequestReader::Refusal::header_too_large:
      ++core_->counters->headers_too_large;
      co_await refuse(431, "exhausted", reader.refusal_text());
      break;
    case RequestReader::Refusal::body_too_large:
      ++core_->counters->bodies_too_large;
      co_await refuse(413, "exhausted", reader.refusal_text());
      break;
    case RequestReader::Refusal::malformed:
    case RequestReader::Refusal::none:
      ++core_->counters->requests_malformed;
      co_await refuse(400, "malformed", reader.refusal_text());
      break;
  }
  co_return std::nullopt;
}

void Connection::dispatch(Result<ReadRequest> read) {
  ++served_;
  ++request_;
  answer_.reset();
  if (!read) {
    ++core_->counters->requests_malformed;
    is_keep_alive_ = false;
    answer(error_response(read.error()));
    return;
  }
  dispatch_parsed(std::move(*read));
}

void Connection::dispatch_parsed(ReadRequest read) {
  ++core_->counters->requests;
  minor_version_ = read.minor_version;
  is_keep_alive_ = read.is_keep_alive;
  HttpRequest& request = read.request;
  is_head_ = request.method == "HEAD";
  request.peer = peer_;

  if (const auto& policy = listener_->policy) {
    const auto origin = request.headers.find("origin");
    const auto allowed =
        policy->check(request.headers["host"], origin == request.headers.end() ? nullptr : &origin->second);
    if (!allowed) {
      ++core_->counters->hosts_refused;
      answer(error_response(allowed.error()));
      return;
    }
  }
  auto match = core_->router.find(request.method, read.segments);
  if (match.handler == nullptr) {
    const bool is_known = match.status == 405;
    auto response = error_response(
        match.status, is_known ? "unsupported" : "not_found",
        is_known ? request.path + " is not for " + request.method : "there is no " + request.path);
    if (is_known) response.headers.emplace_back("Allow", match.allow);
    answer(std::move(response));
    return;
  }
  if (match.access == Access::local_socket && !peer_.is_local_socket) {
    answer(error_response(403, "denied", "this is done over the Unix socket of the agent"));
    return;
  }
  request.parameters = std::move(match.parameters);
  (*match.handler)(request,
                   Responder(std::make_shared<Responder::Ticket>(core_, weak_from_this(), request_)));
}

void Connection::deliver(std::uint64_t request, HttpResponse response) {
  if (request == request_ && !answer_ && !stream_ && !is_ended_) answer(std::move(response));
}

void Connection::deliver(std::uint64_t request, std::shared_ptr<EventStream::State> stream) {
  const bool is_wanted = request == request_ && !answer_ && !stream_ && !is_ended_;
  if (is_wanted && core_->counters->streams_open < core_->limits.event_streams) {
    ++core_->counters->streams_open;
    stream_ = std::move(stream);
    wake_.cancel();
    return;
  }
  stream->finish();
  if (!is_wanted) return;
  ++core_->counters->streams_refused;
  answer(error_response(503, "exhausted", "too many event streams are open"));
}

void Connection::answer(HttpResponse response) {
  answer_ = std::move(response);
  wake_.cancel();
}

asio::awaitable<void> Connection::wait_for_answer() {
  wake_.expires_after(core_->limits.answer_deadline);
  while (!answer_ && !stream_ && !is_ended_) {
    const auto [error] = co_await wake_.async_wait(kToken);
    if (error || answer_ || stream_) continue;
    ++core_->counters->answers_late;
    answer(error_response(504, "timed_out", "the answer took too long"));
  }
}

Framing Connection::framing(bool has_open_end) const {
  Framing framing;
  framing.minor_version = minor_version_;
  framing.has_open_end = has_open_end;
  framing.is_keep_alive = !has_open_end && is_keep_alive_ && !core_->is_stopping &&
                          served_ < core_->limits.requests_per_connection;
  return framing;
}

asio::awaitable<bool> Connection::send_answer() {
  if (!is_ended_ && stream_) co_await send_events();
  if (is_ended_ || stream_ || !answer_) co_return false;
  const Framing frame = framing(false);
  std::string head = format_head(*answer_, frame);
  std::string body = is_head_ ? std::string() : std::move(answer_->body);
  count(answer_->status);
  const bool sent = co_await write(std::move(head), std::move(body));
  if (sent && frame.is_keep_alive) co_return true;
  if (sent && is_keep_alive_ && !core_->is_stopping) ++core_->counters->requests_exhausted;
  if (sent && !buffer_.empty()) co_await linger();
  co_return false;
}

asio::awaitable<void> Connection::send_events() {
  HttpResponse response;
  response.content_type = "text/event-stream";
  std::string head = format_head(response, framing(true));
  count(response.status);
  bool sent = co_await write(std::move(head), "");
  if (!sent || is_head_) co_return;
  asio::co_spawn(socket_.executor(), watch_for_end(shared_from_this()), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
  while (sent && !is_ended_) {
    std::string batch = stream_->take();
    if (batch.empty() && !stream_->is_open()) co_return;
    if (batch.empty()) {
      wake_.expires_after(core_->limits.keep_alive);
      const auto [error] = co_await wake_.async_wait(kToken);
      if (error) continue;
      batch = ":\n\n";
    }
    sent = co_await write(std::move(batch), "");
  }
}

// A client of a stream has nothing more to say: bytes are thrown away, the end of its side ends the stream.
asio::awaitable<void> Connection::watch_for_end(std::shared_ptr<Connection> self) {
  std::string thrown_away;
  std::size_t count = 1;
  while (count > 0 && !self->is_ended_) {
    count = co_await self->socket_.read_some(&thrown_away);
    thrown_away.clear();
  }
  if (!self->is_ended_) self->abort();
}

asio::awaitable<void> Connection::refuse(int status, std::string code, std::string message) {
  HttpResponse response = error_response(status, code, message);
  is_keep_alive_ = false;
  std::string head = format_head(response, framing(false));
  count(status);
  const bool sent = co_await write(std::move(head), std::move(response.body));
  if (sent) co_await linger();
}

// Closing with unread bytes would reset the connection, and the client might never see the answer.
asio::awaitable<void> Connection::linger() {
  socket_.end_sending();
  arm(kLinger);
  std::size_t left = core_->limits.body_bytes;
  while (left > 0) {
    const std::size_t count = co_await read_some();
    if (count == 0) break;
    buffer_.clear();
    left -= std::min(left, count);
  }
}

// A client that is told of the end knows that nothing was cut off.
asio::awaitable<void> Connection::end() {
  if (is_ended_) co_return;
  arm(kLinger);
  co_await socket_.end();
}

// 0: the client ended, the connection broke, or the deadline passed.
asio::awaitable<std::size_t> Connection::read_some() {
  if (is_timed_out_ || is_ended_) co_return 0;
  co_return co_await socket_.read_some(&buffer_);
}

asio::awaitable<bool> Connection::write(std::string head, std::string body) {
  arm(core_->limits.write_deadline);
  const bool written = co_await socket_.write(std::move(head), std::move(body));
  if (!written && is_timed_out_) ++core_->counters->slow_readers_cut;
  disarm();
  co_return written;
}

void Connection::count(int status) {
  if (status < 300)
    ++core_->counters->responses_2xx;
  else if (status < 500)
    ++core_->counters->responses_4xx;
  else
    ++core_->counters->responses_5xx;
}

void Connection::arm(Duration delay) {
  is_timed_out_ = false;
  deadline_.expires_after(delay);
  deadline_.async_wait([weak = weak_from_this(), armed = ++armed_](error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->armed_ != armed) return;
    self->is_timed_out_ = true;
    self->socket_.cancel();
  });
}

void Connection::disarm() {
  ++armed_;
  deadline_.cancel();
}

void Connection::wake() {
  wake_.cancel();
}

void Connection::wind_down() {
  if (stream_)
    stream_->close();
  else if (is_idle_)
    abort();
}

void Connection::abort() {
  is_ended_ = true;
  socket_.close();
  wake_.cancel();
}

void Connection::finish() {
  is_ended_ = true;
  disarm();
  socket_.close();
  if (stream_) {
    --core_->counters->streams_open;
    std::exchange(stream_, nullptr)->finish();
  }
  core_->forget(*this);
}

}  // namespace autopilot::net
