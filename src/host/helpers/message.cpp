// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/message.hpp"

#include <boost/json.hpp>
#include <cstdint>

namespace autopilot::host {
namespace json = boost::json;

namespace {
constexpr std::size_t kHeader = 4;
}

Result<std::string> encode_frame(std::string_view body) {
  if (body.empty() || body.size() > kMaxFrame)
    return fail(Errc::exhausted, "helper frame of " + std::to_string(body.size()) + " bytes");
  std::string frame;
  frame.reserve(kHeader + body.size());
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>(body.size() >> shift & 0xff);
  frame += body;
  return frame;
}

Result<std::optional<std::string>> FrameReader::next() {
  if (buffer_.size() < kHeader) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeader; ++i)
    length = length << 8 | static_cast<std::uint8_t>(buffer_[i]);
  if (length == 0 || length > kMaxFrame)
    return fail(Errc::malformed, "helper frame claims " + std::to_string(length) + " bytes");
  if (buffer_.size() < kHeader + length) return std::nullopt;
  std::optional<std::string> body = buffer_.substr(kHeader, length);
  buffer_.erase(0, kHeader + length);
  return body;
}

namespace {

constexpr std::int64_t kMaxTimeoutMs = 24LL * 3600 * 1000;

Result<json::object> parse_message(std::string_view body) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = 16;
  options.allow_invalid_utf8 = true;  // a path may hold any bytes
  json::value value = json::parse({body.data(), body.size()}, error, {}, options);
  if (error) return fail(Errc::malformed, "helper message: " + error.message());
  json::object* const object = value.if_object();
  if (object == nullptr) return fail(Errc::malformed, "helper message: not an object");
  const json::value* const version = object->if_contains("version");
  if (version == nullptr || !version->is_int64() || version->get_int64() != kHelperProtocol)
    return fail(Errc::malformed, "helper message: another version of the protocol");
  return std::move(*object);
}

Result<std::int64_t> integer(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0)
    return fail(Errc::malformed, "helper message: `" + std::string(key) + "` is not a number");
  return value->get_int64();
}

Result<std::string> word(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  if (value == nullptr || !value->is_string())
    return fail(Errc::malformed, "helper message: `" + std::string(key) + "` is not a string");
  return std::string(value->get_string());
}

std::string head(std::uint64_t id) {
  return "{\"version\":" + std::to_string(kHelperProtocol) + ",\"id\":" + std::to_string(id);
}

std::string in_quotes(std::string_view text) {
  return json::serialize(json::string(text));
}

}  // namespace

std::string encode_request(const HelperRequest& request) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(request.timeout).count();
  return head(request.id) + ",\"method\":" + in_quotes(request.method) +
         ",\"timeoutMs\":" + std::to_string(timeout) + ",\"params\":" + request.params + "}";
}

std::string encode_answer(const HelperAnswer& answer) {
  if (answer.result) return head(answer.id) + ",\"result\":" + *answer.result + "}";
  const Error& error = answer.result.error();
  return head(answer.id) + ",\"error\":{\"code\":" + in_quotes(to_string(error.code)) +
         ",\"what\":" + in_quotes(error.what) + "}}";
}

Result<HelperRequest> decode_request(std::string_view body) {
  const json::object object = TRY(parse_message(body));
  HelperRequest request;
  request.id = static_cast<std::uint64_t>(TRY(integer(object, "id")));
  request.method = TRY(word(object, "method"));
  const std::int64_t timeout = TRY(integer(object, "timeoutMs"));
  if (timeout > kMaxTimeoutMs) return fail(Errc::malformed, "helper message: `timeoutMs` is beyond a day");
  request.timeout = std::chrono::milliseconds(timeout);
  const json::value* const params = object.if_contains("params");
  if (params == nullptr) return fail(Errc::malformed, "helper message: no `params`");
  request.params = json::serialize(*params);
  return request;
}

Result<HelperAnswer> decode_answer(std::string_view body) {
  const json::object object = TRY(parse_message(body));
  HelperAnswer answer;
  answer.id = static_cast<std::uint64_t>(TRY(integer(object, "id")));
  const json::value* const result = object.if_contains("result");
  const json::value* const error = object.if_contains("error");
  if ((result == nullptr) == (error == nullptr))
    return fail(Errc::malformed, "helper message: neither or both of `result` and `error`");
  if (result != nullptr) {
    answer.result = json::serialize(*result);
    return answer;
  }
  if (!error->is_object()) return fail(Errc::malformed, "helper message: `error` is not an object");
  const auto code = parse_errc(TRY(word(error->get_object(), "code")));
  if (!code) return fail(Errc::malformed, "helper message: unknown error code");
  answer.result = fail(*code, TRY(word(error->get_object(), "what")));
  return answer;
}

std::string make_text_message(std::string_view text) {
  return json::serialize(json::string(text));
}

std::optional<std::string> text_in(std::string_view message) {
  json::error_code error;
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  const json::value value = json::parse({message.data(), message.size()}, error, {}, options);
  if (error || !value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

}  // namespace autopilot::host
