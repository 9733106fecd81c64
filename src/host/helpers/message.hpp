// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::host {

// Limit of the body of one message between agent and helper. The body follows its length: four bytes,
// big-endian.
inline constexpr std::size_t kMaxFrame = std::size_t{1} << 20;

// exhausted: the body is longer than kMaxFrame.
[[nodiscard]] Result<std::string> encode_frame(std::string_view body);

// Accepts bytes in any pieces and returns the bodies in order. Keeps only bytes that it has not returned.
class FrameReader {
 public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  // Empty: more bytes are needed. malformed: a length of zero or beyond kMaxFrame; the stream is then
  // unusable.
  [[nodiscard]] Result<std::optional<std::string>> next();
  // The number of bytes after the last complete frame.
  [[nodiscard]] std::size_t pending() const { return buffer_.size(); }

 private:
  std::string buffer_;
};

// {"version":1,"id":7,"method":"statfs","timeoutMs":1500,"params":{...}}
struct HelperRequest {
  std::uint64_t id = 0;
  std::string method;
  std::string params;   // JSON text
  Duration timeout{0};  // time left until the caller's deadline
};

// {"version":1,"id":7,"result":{...}} or {"version":1,"id":7,"error":{"code":"denied","what":"..."}}
struct HelperAnswer {
  std::uint64_t id = 0;
  Result<std::string> result;  // JSON text
};

// Agent and helper are of one release except during an upgrade; another version is malformed.
inline constexpr std::int64_t kHelperProtocol = 1;
// No request has this id: an error with it is about the connection, and is the last message on it.
inline constexpr std::uint64_t kConnectionErrorId = 0;

// `params` and a result must be JSON; they are not validated here.
[[nodiscard]] std::string encode_request(const HelperRequest& request);
[[nodiscard]] std::string encode_answer(const HelperAnswer& answer);
[[nodiscard]] Result<HelperRequest> decode_request(std::string_view body);
[[nodiscard]] Result<HelperAnswer> decode_answer(std::string_view body);

// Requests and answers that consist of one text: a JSON string, which may contain any bytes.
[[nodiscard]] std::string make_text_message(std::string_view text);
// Empty if the message is anything else.
[[nodiscard]] std::optional<std::string> text_in(std::string_view message);

}  // namespace autopilot::host
