// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

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

}  // namespace autopilot::kube
