// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/retry_policy.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::kube {

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
