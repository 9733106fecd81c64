// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace autopilot {

// The caller's next step after an error; the text states what happened and to which object.
enum class Errc : std::uint8_t {
  unavailable,  // not now; try again later
  unsupported,  // never on this machine
  timed_out,    // the deadline passed; the work may still be running
  denied,       // a permission is missing; the text names it
  malformed,    // the input is invalid
  not_found,    // the named object does not exist
  conflict,     // another holder has the object
  exhausted,    // a limit of Autopilot or of the system was reached
  internal,     // a bug of Autopilot
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
// `what: <text of errno>`, with the code that matches the errno.
[[nodiscard]] tl::unexpected<Error> fail_errno(int errno_value, std::string_view what);

// Aborts and prints the location and the condition. For programming errors only, never for faults of the
// machine.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace autopilot

#define AUTOPILOT_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::autopilot::assertion_failed(#condition, __FILE__, __LINE__))

// auto x = TRY(f()): gives the value of a Result, or returns its error. Synchronous code only; see STYLE.md
// about braces.
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
