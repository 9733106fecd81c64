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

// Why an API server did not do what it was asked.
struct ApiError {
  // code: of a refusal by its outcome, else of net::HttpSession. what: method, path, and the server's words.
  Error error;
  int status = 0;      // of HTTP; 0: no answer
  std::string reason;  // of the Status object: "Expired", "AlreadyExists", "Conflict", ...
  ApiVerdict verdict;  // what it means, and what to do next
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;
using OnObject = std::function<void(ApiResult<std::string> json)>;

// How a patch is to be read.
enum class Patch { merge, strategic_merge, apply, json };

// Where an object or a list of them is: "/api/v1/nodes/node-1", "/apis/batch/v1/namespaces/autopilot/jobs".
struct ApiPath {
  std::string path;
  std::map<std::string, std::string, std::less<>> query;
};

struct WatchHandler {
  // One line of the stream: {"type": "ADDED", "object": {...}}.
  std::function<void(std::string_view line)> on_line;
  // Once, the last of all: nothing when the server ended the watch in its own time.
  std::function<void(std::optional<ApiError>)> on_end;
};

// How requests ended since the client was made, by ApiOutcome; of watches only those that were refused.
using ApiCounts = std::array<std::uint64_t, kApiOutcomes>;

struct ClientOptions {
  std::string user_agent;
  std::string field_manager;  // of everything it writes
  Duration deadline = std::chrono::seconds{15};
  std::size_t line_bytes = std::size_t{4} << 20;  // of a watch; exhausted beyond
  std::function<void()> on_unauthorized = {};     // after each 401: the credentials are not taken any more
};

// What is asked of an API server, over one session. On the loop's thread, like everything it calls; never
// from within the call that takes the function. Nothing is tried again here.
class Client {
 public:
  Client(net::EventLoop& loop, net::ServerUrl server, ClientOptions options);

  // What requests carry from now on. Empty token: none.
  void use(std::shared_ptr<const net::TlsContext> tls);
  void use_token(std::string token);

  [[nodiscard]] net::Exchange get(ApiPath path, OnObject on_answer);
  [[nodiscard]] net::Exchange create(ApiPath path, std::string json, OnObject on_answer);
  [[nodiscard]] net::Exchange replace(ApiPath path, std::string json, OnObject on_answer);
  // apply: server-side, and takes fields over from other managers where `force`.
  [[nodiscard]] net::Exchange patch(ApiPath path, Patch kind, std::string body, OnObject on_answer,
                                    bool force = false);
  // body: DeleteOptions; empty: none.
  [[nodiscard]] net::Exchange remove(ApiPath path, std::string options_json, OnObject on_answer);
  // path: of a list, with resourceVersion, allowWatchBookmarks and timeoutSeconds in its query. silence:
  // without a byte for so long it ends as timed_out.
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

// Of an answer that is no success; method and path are for the text. Reads the Status object in the body.
[[nodiscard]] ApiError api_error(const net::HttpResponse& response, std::string_view method,
                                 std::string_view path);

}  // namespace autopilot::kube
