// SPDX-License-Identifier: Apache-2.0

#include "net/responder.hpp"

#include <utility>

#include "net/connection.hpp"
#include "net/http.hpp"
#include "net/loop_state.hpp"

namespace autopilot::net {

Responder::Ticket::Ticket(const std::shared_ptr<HttpServer::Core>& core, std::weak_ptr<Connection> connection,
                          std::uint64_t request)
    : loop_(core->loop),
      counters_(core->counters),
      stream_queue_events_(core->limits.stream_queue_events),
      stream_queue_bytes_(core->limits.stream_queue_bytes),
      connection_(std::move(connection)),
      request_(request) {}

void Responder::Ticket::respond(HttpResponse response) const {
  loop_->post([connection = connection_, request = request_, response = std::move(response)]() mutable {
    if (const auto living = connection.lock()) living->deliver(request, std::move(response));
  });
}

std::shared_ptr<EventStream::State> Responder::Ticket::stream() const {
  auto state = std::make_shared<EventStream::State>(loop_, counters_, connection_, stream_queue_events_,
                                                    stream_queue_bytes_);
  loop_->post([connection = connection_, request = request_, state] {
    if (const auto living = connection.lock())
      living->deliver(request, state);
    else
      state->finish();
  });
  return state;
}

void Responder::Ticket::drop() const {
  ++counters_->answers_dropped;
  respond(error_response(500, "internal", "the server dropped the request without an answer"));
}

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    if (ticket_) ticket_->drop();
    ticket_ = std::move(other.ticket_);
  }
  return *this;
}

Responder::~Responder() {
  if (ticket_) ticket_->drop();
}

void Responder::respond(HttpResponse response) {
  AUTOPILOT_ASSERT(ticket_ != nullptr);
  std::exchange(ticket_, nullptr)->respond(std::move(response));
}

void Responder::respond(const Error& error) {
  respond(error_response(error));
}

EventStream Responder::stream() {
  AUTOPILOT_ASSERT(ticket_ != nullptr);
  return EventStream(std::exchange(ticket_, nullptr)->stream());
}

EventStream::State::State(std::shared_ptr<LoopState> loop, std::shared_ptr<Counters> counters,
                          std::weak_ptr<Connection> connection, std::size_t max_events, std::size_t max_bytes)
    : loop_(std::move(loop)),
      counters_(std::move(counters)),
      connection_(std::move(connection)),
      max_events_(max_events),
      max_bytes_(max_bytes) {}

bool EventStream::State::send(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_) return false;
    if (events_ < max_events_ && queue_.size() + text.size() <= max_bytes_) {
      queue_ += text;
      ++events_;
      if (std::exchange(is_waking_, true)) return true;
    } else {
      is_open_ = false;
      was_cut_ = true;
      queue_.clear();
      ++counters_->streams_cut;
    }
  }
  wake();
  return is_open();
}

void EventStream::State::close() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_open_, false)) return;
  }
  wake();
}

void EventStream::State::abandon() {
  std::function<void()> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped = std::exchange(on_close_, nullptr);
  }
  close();
}

bool EventStream::State::is_open() const {
  const std::lock_guard lock(mutex_);
  return is_open_;
}

bool EventStream::State::has_room() const {
  const std::lock_guard lock(mutex_);
  return !is_open_ || (events_ < max_events_ / 2 && queue_.size() < max_bytes_ / 2);
}

bool EventStream::State::was_cut() const {
  const std::lock_guard lock(mutex_);
  return was_cut_;
}

void EventStream::State::on_close(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    on_close_ = std::move(function);
    if (!is_finished_) return;
  }
  loop_->post([self = weak_from_this()] {
    if (const auto state = self.lock()) state->finish();
  });
}

std::string EventStream::State::take() {
  const std::lock_guard lock(mutex_);
  is_waking_ = false;
  counters_->events_sent += std::exchange(events_, 0);
  return std::exchange(queue_, {});
}

void EventStream::State::finish() {
  std::function<void()> on_close;
  {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
    is_finished_ = true;
    queue_.clear();
    on_close = std::exchange(on_close_, nullptr);
  }
  if (on_close) on_close();
}

void EventStream::State::wake() {
  loop_->post([connection = connection_, self = weak_from_this()] {
    const auto living = connection.lock();
    const auto state = self.lock();
    if (!living || !state) return;
    if (state->was_cut())
      living->abort();  // it can be blocked in a write to a client that does not read
    else
      living->wake();
  });
}

EventStream& EventStream::operator=(EventStream&& other) noexcept {
  if (this != &other) {
    if (state_) state_->abandon();
    state_ = std::move(other.state_);
  }
  return *this;
}

EventStream::~EventStream() {
  if (state_) state_->abandon();
}

bool EventStream::send(const ServerEvent& event) {
  return state_ && state_->send(format_event(event));
}

void EventStream::close() {
  if (state_) state_->close();
}

bool EventStream::is_open() const {
  return state_ && state_->is_open();
}

bool EventStream::has_room() const {
  return !state_ || state_->has_room();
}

void EventStream::on_close(std::function<void()> function) {
  if (state_) state_->on_close(std::move(function));
}

}  // namespace autopilot::net
