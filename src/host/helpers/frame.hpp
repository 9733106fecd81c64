// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace autopilot::host
