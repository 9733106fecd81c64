// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::kube {

// The meaning of an API server's response, or of a missing response, for the client.
enum class ApiOutcome : std::uint8_t {
  ok,
  not_found,     // 404: the object or its kind does not exist
  conflict,      // 409: it changed since it was read, or exists already
  expired,       // 410: that version is no longer available; list again
  invalid,       // 400, 422: the server rejects the request body
  unauthorized,  // 401, or TLS refused: the credentials or the server's certificate were not accepted
  forbidden,     // 403: a permission is missing
  busy,          // 429: too many requests
  server_error,  // 408, 5xx
  unreachable,   // no complete response in time
  too_large,     // 413, or the response exceeds our limit
  unexpected,    // any other status: an API server does not send it
};
inline constexpr std::size_t kApiOutcomes = static_cast<std::size_t>(ApiOutcome::unexpected) + 1;

// The next step.
enum class ApiNext : std::uint8_t {
  go_on,                // the request succeeded
  give_up,              // the same request would get the same response
  look_again,           // read the current state, then decide again
  list_again,           // list again
  refresh_credentials,  // refresh the credentials, then send the same request once more
  back_off,             // retry later. The request can have succeeded nevertheless.
};

struct ApiVerdict {
  ApiOutcome outcome = ApiOutcome::ok;
  ApiNext next = ApiNext::go_on;
  // back_off: not earlier; the caller's BackOff can add to it.
  std::optional<Duration> retry_after;

  friend bool operator==(const ApiVerdict&, const ApiVerdict&) = default;
};

// `retry_after`: the header of that name, empty if missing.
[[nodiscard]] ApiVerdict judge_status(int status, std::string_view retry_after);
// For a request without a complete response: errors of net::HttpSession.
[[nodiscard]] ApiVerdict judge_error(Errc code);

// The outcome as an error code. denied: unauthorized, forbidden; not_found: not_found, expired; conflict;
// exhausted: busy, too_large; malformed: invalid, unexpected; unavailable: server_error, unreachable, ok.
[[nodiscard]] Errc code_of(ApiOutcome outcome);

// The seconds of a Retry-After header, at most kLongestRetryAfter. nullopt for other text: its other form, a
// date, would compare two clocks.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view text);

// "not_found": for logs and labels.
[[nodiscard]] std::string_view to_string(ApiOutcome outcome);

// Why a request to an API server failed.
struct ApiError {
  // code: for a refusal by its outcome, else that of net::HttpSession. what: method, path, and the server's
  // message.
  Error error;
  int status = 0;      // HTTP status; 0: no response
  std::string reason;  // of the Status object: "Expired", "AlreadyExists", "Conflict", ...
  ApiVerdict verdict;  // its meaning and the next step
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;
using OnObject = std::function<void(ApiResult<std::string> json)>;

// Format of a patch.
enum class Patch { merge, strategic_merge, apply, json };

// Path of an object or a list: "/api/v1/nodes/node-1", "/apis/batch/v1/namespaces/autopilot/jobs".
struct ApiPath {
  std::string path;
  std::map<std::string, std::string, std::less<>> query;
};

struct WatchHandler {
  // One line of the stream: {"type": "ADDED", "object": {...}}.
  std::function<void(std::string_view line)> on_line;
  // Called once, as the last; nullopt if the server ended the watch normally.
  std::function<void(std::optional<ApiError>)> on_end;
};

// Number of ended requests since construction, by ApiOutcome; of watches only refused ones.
using ApiCounts = std::array<std::uint64_t, kApiOutcomes>;

struct ClientOptions {
  std::string user_agent;
  std::string field_manager;  // for all writes
  Duration deadline = std::chrono::seconds{15};
  std::size_t line_bytes = std::size_t{4} << 20;  // of a watch; beyond: exhausted
  std::function<void()> on_unauthorized = {};     // after each 401: the server rejects the credentials
};

// Requests to an API server over one session. On the loop's thread, as are its callbacks; a callback is never
// called from within the call that takes it. Does not retry.
class Client {
 public:
  Client(net::EventLoop& loop, net::ServerUrl server, ClientOptions options);

  // Sets the credentials of later requests. Empty token: none.
  void use(std::shared_ptr<const net::TlsContext> tls);
  void use_token(std::string token);

  [[nodiscard]] net::Exchange get(ApiPath path, OnObject on_answer);
  [[nodiscard]] net::Exchange create(ApiPath path, std::string json, OnObject on_answer);
  [[nodiscard]] net::Exchange replace(ApiPath path, std::string json, OnObject on_answer);
  // apply: server-side apply, which takes over fields of other managers if `force`.
  [[nodiscard]] net::Exchange patch(ApiPath path, Patch kind, std::string body, OnObject on_answer,
                                    bool force = false);
  // body: DeleteOptions; empty: none.
  [[nodiscard]] net::Exchange remove(ApiPath path, std::string options_json, OnObject on_answer);
  // path: of a list, with resourceVersion, allowWatchBookmarks and timeoutSeconds in its query. silence:
  // longest time without a byte; then the watch ends as timed_out.
  [[nodiscard]] net::Exchange watch(ApiPath path, Duration silence, WatchHandler handler);
  [[nodiscard]] const ApiCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] net::HttpRequest request(std::string method, ApiPath path) const;
  [[nodiscard]] net::Exchange send(net::HttpRequest request, OnObject on_answer);
  void count(ApiOutcome outcome) { ++counts_[static_cast<std::size_t>(outcome)]; }

  ClientOptions options_;
  std::string token_;
  ApiCounts counts_{};
  net::HttpSession session_;
};

// The error of a response without success; method and path are for the text. Reads the Status object in the
// body.
[[nodiscard]] ApiError api_error(const net::HttpResponse& response, std::string_view method,
                                 std::string_view path);

}  // namespace autopilot::kube
