// SPDX-License-Identifier: Apache-2.0

#include "net/message_reader.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/optional/optional.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/parse.hpp"
#include "net/url.hpp"

namespace autopilot::net {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

// Checks how the head of a request or response marks the end of its body.
// malformed: the end of the body is ambiguous, so that two programs could split the following bytes into
// different messages. This covers several lengths, a length beside a transfer coding, and a coding other than
// chunked. `message` is a Boost.Beast message.
template <class Message>
[[nodiscard]] Status check_framing(const Message& message) {
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

// The shortest valid chunked body: "0\r
// \r
// ".
constexpr std::size_t kShortestChunkedBody = 5;

// Feeds one parser with received bytes.
class ParserFeed {
 public:
  // Passes the front of `bytes` to `parser`; returns the number of bytes used. Stops at the end of the head:
  // the next call continues with the body. need_more is not an error.
  template <class Parser>
  std::size_t put(Parser& parser, std::string_view& bytes, error_code& error) {
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

// Allocates memory for received bytes. Beast's string_body allocates the length that the sender announces.
struct ReceivedBody {
  using value_type = std::string;

  class reader {  // NOLINT(readability-identifier-naming): the name that Beast requires
   public:
    template <bool IsRequest, class Fields>
    reader(http::header<IsRequest, Fields>& /*header*/, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>& /*promised*/, error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& error) {
      error = {};
      std::size_t taken = 0;
      for (const boost::asio::const_buffer part : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(part.data()), part.size());
        taken += part.size();
      }
      return taken;
    }
    void finish(error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace

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

namespace http = boost::beast::http;

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
