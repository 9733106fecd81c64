// SPDX-License-Identifier: Apache-2.0
// Feeds received bytes to Boost.Beast's parsers, for requests and responses.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <string_view>

namespace autopilot::net {

// The shortest valid chunked body: "0\r
// \r
// ".
inline constexpr std::size_t kShortestChunkedBody = 5;

// Feeds one parser with received bytes.
class ParserFeed {
 public:
  // Passes the front of `bytes` to `parser`; returns the number of bytes used. Stops at the end of the head:
  // the next call continues with the body. need_more is not an error.
  template <class Parser>
  std::size_t put(Parser& parser, std::string_view& bytes, boost::system::error_code& error) {
    namespace http = boost::beast::http;
    parser.eager(false);  // one step per call: the length is checked between header and body
    std::size_t used = 0;
    while (!bytes.empty() && !parser.is_done() && !is_too_short(parser, bytes)) {
      const bool is_body = parser.is_header_done();
      const std::size_t count = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
      used += count;
      bytes.remove_prefix(count);
      body_has_begun_ = body_has_begun_ || (is_body && count > 0);
      if (error || count == 0 || (!is_body && parser.is_header_done())) break;
    }
    if (error == http::error::need_more) error = {};
    return used;
  }

 private:
  // Beast 1.74 asserts that a last chunk that it parses again has 5 bytes, although "0\r
  // " can arrive alone.
  template <class Parser>
  [[nodiscard]] bool is_too_short(const Parser& parser, std::string_view bytes) const {
    return parser.is_header_done() && parser.chunked() && !body_has_begun_ &&
           bytes.size() < kShortestChunkedBody;
  }

  bool body_has_begun_ = false;
};

}  // namespace autopilot::net
