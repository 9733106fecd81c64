// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "net/http_server.hpp"
#include "net/server_core.hpp"

namespace autopilot::net {

// Identifies the request and the connection that a response belongs to. Does not keep the loop alive.
class Responder::Ticket {
 public:
  Ticket(const std::shared_ptr<HttpServer::Core>& core, std::weak_ptr<Connection> connection,
         std::uint64_t request);

  void respond(HttpResponse response) const;
  [[nodiscard]] std::shared_ptr<EventStream::State> stream() const;
  void drop() const;

 private:
  std::shared_ptr<LoopState> loop_;
  std::shared_ptr<Counters> counters_;
  std::size_t stream_queue_events_;
  std::size_t stream_queue_bytes_;
  std::weak_ptr<Connection> connection_;
  std::uint64_t request_;
};

}  // namespace autopilot::net
