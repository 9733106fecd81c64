// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::host {

// One field of a message in protobuf's binary form.
struct ProtobufField {
  std::uint32_t number = 0;
  // Of texts, bytes and messages; a part of what is read. Nothing: a number, which nobody here wants.
  std::optional<std::string_view> bytes;
};

// Walks over the fields of one message, in the order of their bytes. Needs no memory.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // The next field, nothing at the end. malformed: cut off, a length beyond the message, a field 0, or one of
  // the groups that proto3 does not have; there is nothing to read behind it then.
  [[nodiscard]] Result<std::optional<ProtobufField>> next();

 private:
  [[nodiscard]] Result<std::uint64_t> take_number();
  [[nodiscard]] Result<std::string_view> take(std::uint64_t size);

  std::string_view rest_;
};

}  // namespace autopilot::host
