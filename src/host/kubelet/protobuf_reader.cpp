// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/protobuf_reader.hpp"

#include <string>

namespace autopilot::host {
namespace {

constexpr unsigned kBitsOfByte = 7;
constexpr unsigned kMaxShift = 63;  // ten bytes
constexpr std::uint64_t kMaxNumber = (1U << 29U) - 1;

// What stands in the three lowest bits of a field's key.
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kEightBytes = 1;
constexpr std::uint64_t kBytes = 2;
constexpr std::uint64_t kFourBytes = 5;

tl::unexpected<Error> malformed_protobuf(const std::string& what) {
  return fail(Errc::malformed, "protobuf: " + what);
}

}  // namespace

Result<std::optional<ProtobufField>> ProtobufReader::next() {
  if (rest_.empty()) return std::nullopt;
  const std::uint64_t key = TRY(take_number());
  const std::uint64_t number = key >> 3U;
  if (number == 0 || number > kMaxNumber) return malformed_protobuf("field " + std::to_string(number));
  ProtobufField field;
  field.number = static_cast<std::uint32_t>(number);
  switch (key & 7U) {
    case kVarint:
      (void)TRY(take_number());
      return field;
    case kEightBytes:
      (void)TRY(take(8));
      return field;
    case kFourBytes:
      (void)TRY(take(4));
      return field;
    case kBytes: {
      const std::uint64_t size = TRY(take_number());
      field.bytes = TRY(take(size));
      return field;
    }
    default:
      return malformed_protobuf("a group, or a kind of field that does not exist");
  }
}

Result<std::uint64_t> ProtobufReader::take_number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift <= kMaxShift; shift += kBitsOfByte) {
    if (rest_.empty()) return malformed_protobuf("cut off");
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    // Of the tenth byte one bit has room.
    if (shift == kMaxShift && byte > 1) break;
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return number;
  }
  return malformed_protobuf("a number beyond 64 bits");
}

Result<std::string_view> ProtobufReader::take(std::uint64_t size) {
  if (size > rest_.size()) return malformed_protobuf("cut off");
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

}  // namespace autopilot::host
