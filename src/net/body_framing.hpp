// SPDX-License-Identifier: Apache-2.0
// Checks how the head of a request or response marks the end of its body.
#pragma once

#include <boost/beast/http/field.hpp>
#include <string>

#include "core/parse.hpp"
#include "core/result.hpp"

namespace autopilot::net {

// malformed: the end of the body is ambiguous, so that two programs could split the following bytes into
// different messages. This covers several lengths, a length beside a transfer coding, and a coding other than
// chunked. `message` is a Boost.Beast message.
template <class Message>
[[nodiscard]] Status check_framing(const Message& message) {
  namespace http = boost::beast::http;
  const auto lengths = message.count(http::field::content_length);
  const auto codings = message.count(http::field::transfer_encoding);
  const auto length = message[http::field::content_length];
  const bool is_number = length.find_first_not_of("0123456789") == length.npos;
  if (lengths > 1 || !is_number)
    return fail(Errc::malformed, "more than one Content-Length header, or a value that is not a number");
  if (codings == 0) return {};
  if (lengths > 0)
    return fail(Errc::malformed,
                "a Content-Length header beside a Transfer-Encoding header; send one of them");
  const auto coding = message[http::field::transfer_encoding];
  if (codings > 1 || to_lower({coding.data(), coding.size()}) != "chunked")
    return fail(Errc::malformed, "unsupported Transfer-Encoding; expected chunked");
  if (message.version() < 11)
    return fail(Errc::malformed, "HTTP/1.0 does not allow a Transfer-Encoding header");
  return {};
}

}  // namespace autopilot::net
