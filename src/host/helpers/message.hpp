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

// The body of one message between agent and helper, behind its length in four bytes, big-endian.
inline constexpr std::size_t kMaxFrame = std::size_t{1} << 20;

// exhausted: the body is longer than kMaxFrame.
[[nodiscard]] Result<std::string> encode_frame(std::string_view body);

// Takes bytes in any pieces and gives the bodies in order. Holds at most one frame and what came behind it.
class FrameReader {
 public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  // Nothing: more bytes are needed. malformed: a length of zero or beyond kMaxFrame; the stream is useless
  // then.
  [[nodiscard]] Result<std::optional<std::string>> next();
  // Bytes that no frame has used yet.
  [[nodiscard]] std::size_t pending() const { return buffer_.size(); }

 private:
  std::string buffer_;
};

// {"version":1,"id":7,"method":"statfs","timeoutMs":1500,"params":{...}}
struct HelperRequest {
  std::uint64_t id = 0;
  std::string method;
  std::string params;   // JSON text
  Duration timeout{0};  // what is left until the caller's deadline
};

// {"version":1,"id":7,"result":{...}} or {"version":1,"id":7,"error":{"code":"denied","what":"..."}}
struct HelperAnswer {
  std::uint64_t id = 0;
  Result<std::string> result;  // JSON text
};

// Both ends are of one release in almost every case; across an upgrade another version is malformed.
inline constexpr std::int64_t kHelperProtocol = 1;
// No request has this id: an error under it is about the connection, and the last thing said on it.
inline constexpr std::uint64_t kHelperTurnsAway = 0;

// `params` and a result must be JSON; they are not looked at here.
[[nodiscard]] std::string encode_request(const HelperRequest& request);
[[nodiscard]] std::string encode_answer(const HelperAnswer& answer);
[[nodiscard]] Result<HelperRequest> decode_request(std::string_view body);
[[nodiscard]] Result<HelperAnswer> decode_answer(std::string_view body);

// Questions and answers of helpers that are one text: a string of JSON. Any bytes may stand in it.
[[nodiscard]] std::string make_text_message(std::string_view text);
// Nothing where the message is anything else.
[[nodiscard]] std::optional<std::string> text_in(std::string_view message);

}  // namespace autopilot::host
