// SPDX-License-Identifier: Apache-2.0
// How the head of a message says where its body ends, for requests and answers alike.
#pragma once

#include <boost/beast/http/field.hpp>
#include <string>

#include "core/parse.hpp"
#include "core/result.hpp"

namespace autopilot::net {

// malformed: the head leaves it open where the body ends, so that two programs could cut the bytes that
// follow into different messages: several lengths, a length beside a coding, or a coding other than chunked.
// `message`: a message of Boost.Beast.
template <class Message>
[[nodiscard]] Status check_framing(const Message& message) {
  namespace http = boost::beast::http;
  const auto lengths = message.count(http::field::content_length);
  const auto codings = message.count(http::field::transfer_encoding);
  const auto length = message[http::field::content_length];
  const bool is_number = length.find_first_not_of("0123456789") == length.npos;
  if (lengths > 1 || !is_number)
    return fail(Errc::malformed, "more than one Content-Length, or one that is not a number");
  if (codings == 0) return {};
  if (lengths > 0)
    return fail(Errc::malformed,
                "a Content-Length header beside a Transfer-Encoding header; send one of them");
  const auto coding = message[http::field::transfer_encoding];
  if (codings > 1 || to_lower({coding.data(), coding.size()}) != "chunked")
    return fail(Errc::malformed, "the only Transfer-Encoding understood is chunked");
  if (message.version() < 11) return fail(Errc::malformed, "a Transfer-Encoding header in HTTP/1.0");
  return {};
}

}  // namespace autopilot::net
