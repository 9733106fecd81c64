// SPDX-License-Identifier: Apache-2.0
#include "net/connection.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "net/listener.hpp"
#include "net/responder.hpp"
#include "net/streams.hpp"

namespace autopilot::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Limits of time and bytes that a refused client can still send before its connection is closed. The bytes
// are discarded.
constexpr Duration kLinger = std::chrono::seconds{2};
constexpr std::size_t kLingerBytes = std::size_t{8} << 20;

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<HttpServer::Core> core,
                       std::shared_ptr<Listener> listener, Peer peer)
    : socket_(std::move(socket), listener->tls),
      core_(std::move(core)),
      listener_(std::move(listener)),
      peer_(std::move(peer)),
      deadline_(socket_.executor()),
      wake_(socket_.executor()),
      guest_(this, peer_key(peer_)) {
  listener_->crowd.enter(guest_);
  core_->add(*this);
}

Connection::~Connection() {
  listener_->crowd.leave(guest_);
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
    goes_on = co_await self->read_request();
    if (!goes_on) break;
    self->dispatch();
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
    peer_.is_verified = socket_.is_client_verified();
    peer_.names = socket_.client_names();
    co_return true;
  }
  if (is_ended_) co_return false;
  ++(is_timed_out_ ? core_->counters->handshakes_late : core_->counters->handshakes_failed);
  if (shaken == ServerStream::Handshake::client_speaks_http) {
    const HttpResponse response =
        error_response(400, "malformed", "this port accepts only TLS; use https://");
    socket_.say_in_the_clear(format_head(response, Framing()) + response.body);
  }
  co_return false;
}

void Connection::dispatch() {
  ++served_;
  ++request_;
  ++core_->counters->requests;
  listener_->crowd.end_wait(guest_);
  answer_.reset();
  minor_version_ = read_->minor_version;
  is_keep_alive_ = read_->is_keep_alive;
  HttpRequest request = std::move(read_->request);
  is_head_ = request.method == "HEAD";
  if (admission_.refusal) return answer(std::move(*admission_.refusal));
  request.peer = peer_;
  request.body = reader_->take_body();
  request.parameters = std::move(admission_.match.parameters);
  (*admission_.match.handler)(
      request, Responder(std::make_shared<Responder::Ticket>(core_, weak_from_this(), request_)));
}

void Connection::deliver(std::uint64_t request, HttpResponse response) {
  if (request == request_ && !answer_ && !stream_ && !is_ended_) answer(std::move(response));
}

void Connection::deliver(std::uint64_t request, std::shared_ptr<EventStream::State> stream) {
  const bool is_wanted = request == request_ && !answer_ && !stream_ && !is_ended_;
  Crowd& crowd = listener_->crowd;
  const std::size_t most = core_->share_of(crowd, core_->limits.event_streams);
  const Room room = is_wanted ? crowd.room_for_stream(guest_, most) : Room{};
  if (room.is_there) {
    if (room.instead_of != nullptr) {
      ++core_->counters->streams_displaced;
      room.instead_of->connection->abort();
    }
    crowd.begin_stream(guest_);
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
  if (!is_ended_ && !hold(response.body.size())) {
    ++core_->counters->buffers_refused;
    response = no_bytes_left();
  }
  answer_ = std::move(response);
  wake_.cancel();
}

asio::awaitable<void> Connection::wait_for_answer() {
  wake_.expires_after(core_->limits.answer_deadline);
  while (!answer_ && !stream_ && !is_ended_) {
    const auto [error] = co_await wake_.async_wait(kToken);
    if (error || answer_ || stream_) continue;
    ++core_->counters->answers_late;
    answer(error_response(504, "timed_out", "the handler did not answer before the deadline"));
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
  std::shared_ptr<const std::string> body = std::move(answer_->shared_body);
  if (!body) body = std::make_shared<const std::string>(std::move(answer_->body));
  if (is_head_) body = nullptr;
  count(answer_->status);
  listener_->crowd.begin_wait(guest_);
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
  bool sent = co_await write(std::move(head));
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
    sent = co_await write(std::move(batch));
  }
}

// The client of an event stream has no more to send: its bytes are discarded, and closing its side ends the
// stream.
asio::awaitable<void> Connection::watch_for_end(std::shared_ptr<Connection> self) {
  std::string thrown_away;
  std::size_t count = 1;
  while (count > 0 && !self->is_ended_) {
    count = co_await self->socket_.read_some(&thrown_away);
    thrown_away.clear();
  }
  if (!self->is_ended_) self->abort();
}

asio::awaitable<void> Connection::refuse(HttpResponse response) {
  is_keep_alive_ = false;
  std::string head = format_head(response, framing(false));
  count(response.status);
  const bool sent = co_await write(std::move(head) + response.body);
  if (sent) co_await linger();
}

// Closing a socket with unread bytes resets the connection, and the client could lose the response.
asio::awaitable<void> Connection::linger() {
  socket_.end_sending();
  arm(kLinger);
  std::size_t left = kLingerBytes;
  while (left > 0) {
    const std::size_t count = co_await read_some();
    if (count == 0) break;
    buffer_.clear();
    left -= std::min(left, count);
  }
}

// A TLS client that receives close_notify knows that the response is complete.
asio::awaitable<void> Connection::end() {
  if (is_ended_) co_return;
  arm(kLinger);
  co_await socket_.end();
}

// Returns 0 if the client closed, the connection failed, or the deadline passed.
asio::awaitable<std::size_t> Connection::read_some() {
  if (is_timed_out_ || is_ended_) co_return 0;
  co_return co_await socket_.read_some(&buffer_);
}

asio::awaitable<bool> Connection::write(std::string head, std::shared_ptr<const std::string> body) {
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
  listener_->crowd.leave(guest_);
  core_->note_bytes();
  socket_.close();
  wake_.cancel();
}

void Connection::displace() {
  ++core_->counters->connections_displaced;
  const bool is_arriving = reader_ && !reader_->is_complete() && !is_idle_;
  if (is_arriving && !listener_->is_encrypted) {
    const HttpResponse response = too_many_connections();
    socket_.say_in_the_clear(format_head(response, Framing()) + response.body);
  }
  abort();
}

void Connection::finish() {
  is_ended_ = true;
  listener_->crowd.leave(guest_);
  core_->note_bytes();
  disarm();
  socket_.close();
  if (stream_) {
    --core_->counters->streams_open;
    std::exchange(stream_, nullptr)->finish();
  }
  core_->forget(*this);
}

}  // namespace autopilot::net
