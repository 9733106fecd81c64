// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace autopilot {

// What the caller can do about an error; the text says what happened and to which object.
enum class Errc : std::uint8_t {
  unavailable,  // not now: try again later
  unsupported,  // never on this machine
  timed_out,    // the deadline passed; the work may still be running
  denied,       // a right is missing; the text names it
  malformed,    // what was read is not what it should be
  not_found,    // the named object does not exist
  conflict,     // somebody else holds it
  exhausted,    // a limit of ours or of the system was reached
  internal,     // a bug of ours
};

[[nodiscard]] std::string_view to_string(Errc code);
[[nodiscard]] std::optional<Errc> parse_errc(std::string_view word);
[[nodiscard]] Errc errc_of(int errno_value);

struct [[nodiscard]] Error {
  Errc code = Errc::internal;
  std::string what;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string what) {
  return tl::unexpected<Error>(Error{code, std::move(what)});
}
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}
// `what: <text of errno>`, with the code that fits the errno.
[[nodiscard]] tl::unexpected<Error> fail_errno(int errno_value, std::string_view what);

// Aborts with the place and the condition: a programmer's error, never a fault of the machine.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace autopilot

#define AUTOPILOT_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::autopilot::assertion_failed(#condition, __FILE__, __LINE__))

// auto x = TRY(f()): the value of a Result, or return its error. Synchronous code only; STYLE.md on braces.
#define TRY(expression)                                                                           \
  __extension__({                                                                                 \
    auto autopilot_try_result = (expression);                                                     \
    if (!autopilot_try_result) return ::autopilot::fail(std::move(autopilot_try_result).error()); \
    std::move(autopilot_try_result).value();                                                      \
  })

// The same for Status, which has no value.
#define TRY_STATUS(expression)                                                                    \
  do {                                                                                            \
    auto autopilot_try_status = (expression);                                                     \
    if (!autopilot_try_status) return ::autopilot::fail(std::move(autopilot_try_status).error()); \
  } while (false)
