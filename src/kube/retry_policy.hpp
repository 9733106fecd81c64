// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::kube {

// What the answer of an API server, or its silence, means to whoever asked.
enum class ApiOutcome : std::uint8_t {
  ok,
  not_found,     // 404: the object, or its kind, is not there
  conflict,      // 409: it was changed since it was read, or exists already
  expired,       // 410: that version is history; list anew
  invalid,       // 400, 422: the server does not take what was sent
  unauthorized,  // 401, or TLS refused: who we are, or who the server is, was not accepted
  forbidden,     // 403: a right is missing
  busy,          // 429: too much at once
  server_error,  // 408, 5xx
  unreachable,   // no whole answer came in time
  too_large,     // 413, or the answer is larger than our limit
  unexpected,    // anything else: no API server answers so
};
inline constexpr std::size_t kApiOutcomes = static_cast<std::size_t>(ApiOutcome::unexpected) + 1;

// What to do next.
enum class ApiNext : std::uint8_t {
  go_on,                // it is done
  give_up,              // the same request would get the same answer
  look_again,           // read what is there now, then decide anew
  list_again,           // read everything anew
  refresh_credentials,  // read them anew, then send the same request once more
  back_off,             // the same again, but later. It may have been done in spite of the answer.
};

struct ApiVerdict {
  ApiOutcome outcome = ApiOutcome::ok;
  ApiNext next = ApiNext::go_on;
  // back_off: not earlier; the caller's BackOff says how much later.
  std::optional<Duration> retry_after;

  friend bool operator==(const ApiVerdict&, const ApiVerdict&) = default;
};

// `retry_after`: the header of that name, empty where there is none.
[[nodiscard]] ApiVerdict judge_status(int status, std::string_view retry_after);
// For a request without a whole answer: the errors of net::HttpSession.
[[nodiscard]] ApiVerdict judge_error(Errc code);

// The same in the words of the rest of the program. denied: unauthorized, forbidden; not_found: not_found,
// expired; conflict; exhausted: busy, too_large; malformed: invalid, unexpected; unavailable: server_error,
// unreachable, ok.
[[nodiscard]] Errc code_of(ApiOutcome outcome);

// The seconds of a Retry-After header, at most kLongestRetryAfter. Nothing for anything else: its other form,
// a date, would be read on two clocks.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view text);

// "not_found": for logs and labels.
[[nodiscard]] std::string_view to_string(ApiOutcome outcome);

}  // namespace autopilot::kube
