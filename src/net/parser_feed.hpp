// SPDX-License-Identifier: Apache-2.0
// How bytes reach Boost.Beast's parsers, for requests and answers alike.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <string_view>

namespace autopilot::net {

// The shortest chunked body there is: "0\r\n\r\n".
inline constexpr std::size_t kShortestChunkedBody = 5;

// Feeds one parser with what has arrived.
class ParserFeed {
 public:
  // Takes from the front of `bytes` what `parser` can use; returns how much. Stops where the head ends: the
  // next call goes on with the body. need_more is not an error.
  template <class Parser>
  std::size_t put(Parser& parser, std::string_view& bytes, boost::system::error_code& error) {
    namespace http = boost::beast::http;
    parser.eager(false);  // one step a call: between header and body the length has to be looked at
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
  // Beast 1.74 asserts that a last chunk it sees again has 5 bytes, though "0\r\n" may have come alone.
  template <class Parser>
  [[nodiscard]] bool is_too_short(const Parser& parser, std::string_view bytes) const {
    return parser.is_header_done() && parser.chunked() && !body_has_begun_ &&
           bytes.size() < kShortestChunkedBody;
  }

  bool body_has_begun_ = false;
};

}  // namespace autopilot::net
