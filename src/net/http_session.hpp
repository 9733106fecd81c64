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
#include "net/server_url.hpp"
#include "net/tls.hpp"

namespace autopilot::net {

struct SessionLimits {
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = std::size_t{32} << 20;  // of one answer; exhausted beyond
  std::size_t connections = 16;                    // at once; exhausted beyond
  std::size_t kept = 2;                            // connections that wait for the next request
  Duration keep_for = std::chrono::seconds{30};
};

// A request that is under way. Destroying or cancelling it ends it, and none of its functions is called after
// that.
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

// An answer as it comes. All three are called, any may cancel the exchange.
struct StreamHandler {
  std::function<void(const HttpResponse& head)> on_head;  // without body
  std::function<void(std::string_view bytes)> on_bytes;   // of the body
  // Once, the last of all: success when the server ended the answer rightly.
  std::function<void(Status)> on_end;
};

// Exchanges with one server over connections that are kept between them. On the loop's thread, where all
// functions are called too, never from within the call that takes them. Any status is an answer. Errors name
// the server: unavailable: nobody answers or the connection broke; denied: TLS refused; timed_out; malformed:
// no HTTP; exhausted: a limit. A request that may be sent twice (GET, HEAD, PUT, DELETE) is sent again when a
// kept connection turns out to be dead.
class HttpSession {
 public:
  // tls: for an https URL; null: none, and https is refused.
  HttpSession(EventLoop& loop, ServerUrl url, std::shared_ptr<const TlsContext> tls,
              SessionLimits limits = {});
  // Ends what is under way.
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  // New connections are made with it; those that are kept are closed.
  void use(std::shared_ptr<const TlsContext> tls);

  // deadline: of the whole exchange.
  [[nodiscard]] Exchange send(HttpRequest request, Duration deadline,
                              std::function<void(Result<HttpResponse>)> on_answer);
  // deadline: until the head. silence: without a byte after it; then it ends as timed_out.
  [[nodiscard]] Exchange stream(HttpRequest request, Duration deadline, Duration silence,
                                StreamHandler handler);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace autopilot::net
