// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"
#include "net/http.hpp"
#include "net/tls.hpp"
#include "net/url.hpp"

namespace autopilot::net {

struct SessionLimits {
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = std::size_t{32} << 20;  // of one response; beyond: exhausted
  std::size_t connections = 16;                    // concurrent; beyond: exhausted
  std::size_t kept = 2;                            // idle connections kept for the next request
  Duration keep_for = std::chrono::seconds{30};
};

// A request in progress. Destroying or cancelling it ends the request, and none of its callbacks is called
// after that.
class Exchange {
 public:
  struct State;

  Exchange() = default;
  explicit Exchange(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Exchange(Exchange&& other) noexcept = default;
  Exchange& operator=(Exchange&& other) noexcept;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { cancel(); }

  void cancel();
  [[nodiscard]] bool is_active() const;

 private:
  std::shared_ptr<State> state_;
};

// Callbacks of a response that arrives in parts. Any of them can cancel the exchange.
struct StreamHandler {
  std::function<void(const HttpResponse& head)> on_head;  // without body
  std::function<void(std::string_view bytes)> on_bytes;   // of the body
  // Called once, as the last: success if the response ended properly.
  std::function<void(Status)> on_end;
};

// Exchanges with one server over connections that are reused. Use it on the loop's thread; callbacks run
// there too, never from within the call that starts the exchange. A response with any status is a success.
// Errors name the server. unavailable: the server does not answer or the connection broke; denied: TLS
// refused; timed_out; malformed: not HTTP; exhausted: a limit. An idempotent request (GET, HEAD, PUT, DELETE)
// is sent again if a reused connection turns out to be closed.
class HttpSession {
 public:
  // tls: for an https URL; null: https is refused.
  HttpSession(EventLoop& loop, ServerUrl url, std::shared_ptr<const TlsContext> tls,
              SessionLimits limits = {});
  // Ends all exchanges in progress.
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  // New connections use this context; idle connections are closed.
  void use(std::shared_ptr<const TlsContext> tls);

  // deadline: for the whole exchange.
  [[nodiscard]] Exchange send(HttpRequest request, Duration deadline,
                              std::function<void(Result<HttpResponse>)> on_answer);
  // deadline: for the head. silence: longest time without a byte after the head; then the stream ends as
  // timed_out.
  [[nodiscard]] Exchange stream(HttpRequest request, Duration deadline, Duration silence,
                                StreamHandler handler);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace autopilot::net
