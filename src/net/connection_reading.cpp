// SPDX-License-Identifier: Apache-2.0
// The part of Connection that turns received bytes into a request.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "net/connection.hpp"
#include "net/listener.hpp"
#include "net/streams.hpp"

namespace autopilot::net {

namespace asio = boost::asio;

asio::awaitable<bool> Connection::read_request() {
  reader_.emplace(core_->limits.header_bytes);
  read_.reset();
  refusal_.reset();
  is_idle_ = true;
  if (buffer_.empty()) buffer_ = std::string();  // an idle client holds no memory
  listener_->crowd.hold(guest_, buffer_.size());
  core_->note_bytes();
  listener_->crowd.begin_wait(guest_);
  arm(core_->limits.idle_deadline);
  while (!is_ended_) {
    if (!take_bytes()) break;
    if (reader_->is_complete()) {
      disarm();
      co_return true;
    }
    if (core_->is_stopping && is_idle_) co_return false;
    if (reader_->has_head() && reader_->take_expects_continue()) {
      const bool sent = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
      if (!sent) co_return false;
      arm(core_->limits.read_deadline);
    }
    if (refusal_) break;
    const std::size_t count = co_await read_some();
    if (count > 0) continue;
    if (!refusal_ && (!is_timed_out_ || is_ended_)) co_return false;
    break;
  }
  if (is_ended_) co_return false;
  co_await refuse_unread();
  co_return false;
}

// Uses the bytes that have arrived.
bool Connection::take_bytes() {
  if (refusal_) return false;
  if (buffer_.empty()) return true;
  if (std::exchange(is_idle_, false)) arm(core_->limits.read_deadline);
  buffer_.erase(0, reader_->feed(buffer_));
  if (!read_ && reader_->has_head()) {
    if (!take_head()) return false;
    buffer_.erase(0, reader_->feed(buffer_));
  }
  if (reader_->refusal() != RequestReader::Refusal::none) return note_refusal();
  if (hold(buffer_.capacity() + reader_->held_bytes())) return true;
  ++core_->counters->buffers_refused;
  refusal_ = no_bytes_left();
  return false;
}

bool Connection::take_head() {
  auto head = reader_->head();
  if (!head) {
    ++core_->counters->requests_malformed;
    refusal_ = error_response(head.error());
    return false;
  }
  read_ = std::move(*head);
  admission_ = admit(*core_, *listener_, peer_, *read_);
  if (admission_.refusal && reader_->has_body()) {
    refusal_ = std::move(admission_.refusal);
    return false;
  }
  reader_->accept_body(admission_.body_bytes);
  return reader_->refusal() == RequestReader::Refusal::none || note_refusal();
}

bool Connection::note_refusal() {
  switch (reader_->refusal()) {
    case RequestReader::Refusal::header_too_large:
      ++core_->counters->headers_too_large;
      refusal_ = error_response(431, "exhausted", reader_->refusal_text());
      break;
    case RequestReader::Refusal::body_too_large:
      ++core_->counters->bodies_too_large;
      refusal_ = error_response(413, "exhausted",
                                "the request body is too large: " + read_->request.path +
                                    " accepts at most " + std::to_string(admission_.body_bytes) + " bytes");
      break;
    case RequestReader::Refusal::malformed:
    case RequestReader::Refusal::none:
      ++core_->counters->requests_malformed;
      refusal_ = error_response(400, "malformed", reader_->refusal_text());
      break;
  }
  return false;
}

// Handles a client that sends its request too slowly, or whose request is refused.
asio::awaitable<void> Connection::refuse_unread() {
  if (!refusal_ && is_idle_) {
    ++core_->counters->idle_closed;
    co_return;
  }
  if (!refusal_) {
    ++core_->counters->slow_senders_cut;
    refusal_ = error_response(408, "timed_out", "the request did not arrive before the deadline");
  }
  reader_.reset();
  buffer_ = std::string();
  listener_->crowd.hold(guest_, 0);
  core_->note_bytes();
  HttpResponse response = std::move(*refusal_);
  co_await refuse(std::move(response));
}

bool Connection::hold(std::size_t bytes) {
  Crowd& crowd = listener_->crowd;
  Room room = crowd.room_for_bytes(guest_, bytes, core_->limits.buffered_bytes);
  while (room.instead_of != nullptr) {
    room.instead_of->connection->give_up_bytes();
    room = crowd.room_for_bytes(guest_, bytes, core_->limits.buffered_bytes);
  }
  if (!room.is_there) return false;
  crowd.hold(guest_, bytes);
  core_->note_bytes();
  return true;
}

void Connection::give_up_bytes() {
  ++core_->counters->buffers_displaced;
  const bool is_arriving = reader_ && !reader_->is_complete();
  if (!is_arriving) return abort();
  refusal_ = no_bytes_left();
  reader_.reset();
  buffer_ = std::string();
  listener_->crowd.hold(guest_, 0);
  socket_.cancel();
}

}  // namespace autopilot::net
