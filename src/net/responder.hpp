// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

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

class Connection;
struct LoopState;

// The queue between the senders of one stream and its connection. Every function can be called from any
// thread unless stated otherwise.
class EventStream::State : public std::enable_shared_from_this<EventStream::State> {
 public:
  State(std::shared_ptr<LoopState> loop, std::shared_ptr<Counters> counters,
        std::weak_ptr<Connection> connection, std::size_t max_events, std::size_t max_bytes);

  bool send(std::string_view text);
  void close();
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] bool has_room() const;
  void on_close(std::function<void()> function);
  // Closes the stream and drops its on_close callback.
  void abandon();

  // For the connection, on the loop's thread: removes and returns all queued text, in order.
  [[nodiscard]] std::string take();
  // True once the queue was full: its contents will not be sent.
  [[nodiscard]] bool was_cut() const;
  // The connection has ended: closes the stream and calls on_close.
  void finish();

 private:
  void wake();

  const std::shared_ptr<LoopState> loop_;
  const std::shared_ptr<Counters> counters_;
  const std::weak_ptr<Connection> connection_;
  const std::size_t max_events_;
  const std::size_t max_bytes_;

  mutable std::mutex mutex_;
  std::string queue_;
  std::size_t events_ = 0;
  bool is_open_ = true;
  bool was_cut_ = false;
  bool is_finished_ = false;
  bool is_waking_ = false;
  std::function<void()> on_close_;
};

}  // namespace autopilot::net
