// SPDX-License-Identifier: Apache-2.0
#include "core/result.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace autopilot {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::unavailable:
      return "unavailable";
    case Errc::unsupported:
      return "unsupported";
    case Errc::timed_out:
      return "timed_out";
    case Errc::denied:
      return "denied";
    case Errc::malformed:
      return "malformed";
    case Errc::not_found:
      return "not_found";
    case Errc::conflict:
      return "conflict";
    case Errc::exhausted:
      return "exhausted";
    case Errc::internal:
      return "internal";
  }
  return "internal";
}

std::optional<Errc> parse_errc(std::string_view word) {
  for (const Errc code : {Errc::unavailable, Errc::unsupported, Errc::timed_out, Errc::denied,
                          Errc::malformed, Errc::not_found, Errc::conflict, Errc::exhausted, Errc::internal})
    if (to_string(code) == word) return code;
  return std::nullopt;
}

Errc errc_of(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return Errc::not_found;
    case EACCES:
    case EPERM:
      return Errc::denied;
    case ETIMEDOUT:
    case ETIME:
      return Errc::timed_out;
    case ENOSYS:
    case ENOTTY:
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
      return Errc::unsupported;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case E2BIG:
    case EFBIG:
      return Errc::exhausted;
    case EEXIST:
    case EBUSY:
    case EADDRINUSE:
      return Errc::conflict;
    default:
      return Errc::unavailable;
  }
}

tl::unexpected<Error> fail_errno(int errno_value, std::string_view what) {
  return fail(errc_of(errno_value), std::string(what) + ": " + std::generic_category().message(errno_value));
}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "autopilot: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace autopilot
