// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/frame.hpp"

#include <cstdint>

namespace autopilot::host {
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

}  // namespace autopilot::host
