// SPDX-License-Identifier: Apache-2.0
#include "net/response_reader.hpp"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/parse.hpp"
#include "net/body_framing.hpp"
#include "net/parser_feed.hpp"
#include "net/received_body.hpp"

namespace autopilot::net {

namespace http = boost::beast::http;
using boost::system::error_code;

struct ResponseReader::Parser {
  http::response_parser<ReceivedBody> http;
  ParserFeed feed;
  std::size_t header_bytes = 0;
};

ResponseReader::ResponseReader(std::size_t header_bytes, std::optional<std::size_t> body_bytes, bool is_head)
    : parser_(std::make_unique<Parser>()) {
  parser_->header_bytes = header_bytes;
  parser_->http.header_limit(static_cast<std::uint32_t>(
      std::min<std::size_t>(header_bytes, std::numeric_limits<std::uint32_t>::max())));
  if (body_bytes)
    parser_->http.body_limit(*body_bytes);
  else
    parser_->http.body_limit(boost::none);
  parser_->http.skip(is_head);
}

ResponseReader::~ResponseReader() = default;

Result<std::size_t> ResponseReader::feed(std::string_view bytes) {
  error_code error;
  const bool had_head = has_head();
  std::size_t used = parser_->feed.put(parser_->http, bytes, error);
  if (!error && !had_head && has_head()) {
    TRY_STATUS(check_framing(parser_->http.get()));
    used += parser_->feed.put(parser_->http, bytes, error);
  }
  if (error == http::error::header_limit || error == http::error::body_limit)
    return fail(Errc::exhausted, "the response is too large");
  if (error) return fail(Errc::malformed, "not an HTTP response: " + error.message());
  if (!is_complete() && bytes.size() > parser_->header_bytes)
    return fail(Errc::exhausted, "a line of the response is too long");
  return used;
}

Status ResponseReader::end() {
  if (is_complete()) return {};
  error_code error;
  if (parser_->http.is_header_done()) parser_->http.put_eof(error);
  if (error || !is_complete())
    return fail(Errc::unavailable, "the connection closed before the end of the response");
  return {};
}

bool ResponseReader::has_head() const {
  return parser_->http.is_header_done();
}

bool ResponseReader::is_complete() const {
  return parser_->http.is_done();
}

bool ResponseReader::is_kept_alive() const {
  return is_complete() && parser_->http.keep_alive();
}

HttpResponse ResponseReader::head() const {
  const auto& message = parser_->http.get();
  HttpResponse response;
  response.status = static_cast<int>(message.result_int());
  response.content_type.clear();
  for (const auto& field : message) {
    const auto name = field.name_string();
    const auto value = field.value();
    response.headers.emplace_back(to_lower({name.data(), name.size()}),
                                  std::string(value.data(), value.size()));
    if (field.name() == http::field::content_type) response.content_type = response.headers.back().second;
  }
  return response;
}

std::string ResponseReader::take_body() {
  return std::exchange(parser_->http.get().body(), {});
}

}  // namespace autopilot::net
