// SPDX-License-Identifier: Apache-2.0
#include "net/request_reader.hpp"

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

#include "core/parse.hpp"
#include "net/body_framing.hpp"
#include "net/parser_feed.hpp"
#include "net/received_body.hpp"
#include "net/url.hpp"

namespace autopilot::net {

namespace http = boost::beast::http;
using boost::system::error_code;

struct RequestReader::Parser {
  http::request_parser<ReceivedBody> http;
  ParserFeed feed;
  std::size_t header_bytes = 0;
  Refusal refusal = Refusal::none;
  std::string refusal_text;
  bool has_begun = false;
  bool is_head_checked = false;
  bool is_body_accepted = false;
  bool continue_taken = false;

  void refuse(Refusal why, std::string text) {
    refusal = why;
    refusal_text = std::move(text);
  }
  void check_head() {
    if (is_head_checked || !http.is_header_done()) return;
    is_head_checked = true;
    if (const auto framed = check_framing(http.get()); !framed)
      refuse(Refusal::malformed, framed.error().what);
  }
  void refuse(error_code error) {
    if (error == http::error::header_limit)
      refuse(Refusal::header_too_large, "the request's header is too large");
    else if (error == http::error::body_limit)
      refuse(Refusal::body_too_large, "the request's body is too large");
    else
      refuse(Refusal::malformed, "malformed request: " + error.message());
  }
};

RequestReader::RequestReader(std::size_t header_bytes) : parser_(std::make_unique<Parser>()) {
  parser_->header_bytes = header_bytes;
  parser_->http.header_limit(static_cast<std::uint32_t>(
      std::min<std::size_t>(header_bytes, std::numeric_limits<std::uint32_t>::max())));
  parser_->http.body_limit(boost::none);  // accept_body() sets the limit
}

RequestReader::~RequestReader() = default;

std::size_t RequestReader::feed(std::string_view bytes) {
  std::size_t used = 0;
  if (!parser_->has_begun) {
    // RFC 9112 2.2: empty lines before the request line are skipped.
    while (used < bytes.size() && (bytes[used] == '\r' || bytes[used] == '\n'))
      ++used;
    bytes.remove_prefix(used);
    parser_->has_begun = !bytes.empty();
  }
  if (parser_->refusal == Refusal::none && (!has_head() || parser_->is_body_accepted)) {
    error_code error;
    used += parser_->feed.put(parser_->http, bytes, error);
    if (error) parser_->refuse(error);
    if (!error) parser_->check_head();
  }
  // Bytes that the parser cannot use yet belong to one header, chunk size line or trailer; its length must be
  // bounded.
  const bool is_waiting = has_head() && !parser_->is_body_accepted;
  if (!is_complete() && !is_waiting && parser_->refusal == Refusal::none &&
      bytes.size() > parser_->header_bytes)
    parser_->refuse(Refusal::header_too_large, "a line of the request is too long");
  return used;
}

RequestReader::Refusal RequestReader::refusal() const {
  return parser_->refusal;
}

const std::string& RequestReader::refusal_text() const {
  return parser_->refusal_text;
}

bool RequestReader::has_head() const {
  return parser_->refusal == Refusal::none && parser_->is_head_checked;
}

bool RequestReader::has_body() const {
  AUTOPILOT_ASSERT(has_head());
  return !parser_->http.is_done();
}

void RequestReader::accept_body(std::size_t body_bytes) {
  AUTOPILOT_ASSERT(has_head());
  const auto promised = parser_->http.content_length();
  if (promised && *promised > body_bytes) return parser_->refuse(http::error::body_limit);
  parser_->http.body_limit(body_bytes);
  parser_->is_body_accepted = true;
}

bool RequestReader::take_expects_continue() {
  if (parser_->continue_taken || !parser_->is_body_accepted || parser_->http.is_done()) return false;
  parser_->continue_taken = true;
  const auto& message = parser_->http.get();
  const auto expect = message[http::field::expect];
  return message.version() >= 11 && to_lower({expect.data(), expect.size()}) == "100-continue";
}

std::size_t RequestReader::held_bytes() const {
  return parser_->http.get().body().capacity();
}

bool RequestReader::is_complete() const {
  return has_head() && parser_->http.is_done();
}

std::string RequestReader::take_body() {
  AUTOPILOT_ASSERT(is_complete());
  return std::move(parser_->http.get().body());
}

Result<ReadRequest> RequestReader::head() const {
  AUTOPILOT_ASSERT(has_head());
  const auto& message = parser_->http.get();
  const auto target_text = message.target();
  auto target = TRY(parse_request_target({target_text.data(), target_text.size()}));
  const auto hosts = message.count(http::field::host);
  if (hosts > 1) return fail(Errc::malformed, "the request has more than one Host header");
  if (hosts == 0 && message.version() >= 11) return fail(Errc::malformed, "missing Host header");

  ReadRequest read;
  read.minor_version = message.version() % 10;
  read.is_keep_alive = message.keep_alive();
  read.segments = std::move(target.segments);
  read.request.method = std::string(message.method_string());
  read.request.path = std::move(target.path);
  read.request.query = std::move(target.query);
  for (const auto& field : message) {
    const auto name = field.name_string();
    const auto value = field.value();
    auto& slot = read.request.headers[to_lower({name.data(), name.size()})];
    if (!slot.empty()) slot += ", ";
    slot.append(value.data(), value.size());
  }
  return read;
}

}  // namespace autopilot::net
