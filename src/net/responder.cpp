// SPDX-License-Identifier: Apache-2.0
#include "net/responder.hpp"

#include <utility>

#include "net/connection.hpp"
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

}  // namespace autopilot::net
