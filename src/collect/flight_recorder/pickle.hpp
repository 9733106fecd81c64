// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.hpp"

// Data in Python's pickle format. The writer is not trusted: nothing is executed, and everything has a limit.
namespace autopilot::collect {

struct PickleLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t depth = 64;                       // of containers in each other
  std::size_t values = 4'000'000;               // that are made
  std::size_t memory = std::size_t{256} << 20;  // estimate of what they take
};

struct PickleValue;
// Shared, because the memo of a pickle names a value several times.
using PickleRef = std::shared_ptr<const PickleValue>;
using PickleList = std::vector<PickleRef>;  // a list, a tuple or a set
using PickleDict = std::vector<std::pair<PickleRef, PickleRef>>;
struct PickleNone {};

struct PickleValue {
  std::variant<PickleNone, bool, std::int64_t, double, std::string, PickleList, PickleDict> value;

  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value); }
  [[nodiscard]] const PickleList* list() const { return std::get_if<PickleList>(&value); }
  [[nodiscard]] const PickleDict* dict() const { return std::get_if<PickleDict>(&value); }
  // A number, or a text that is one; nothing otherwise.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  // The value of a text key in a dict; nullptr: not there, or not a dict. The last one of several.
  [[nodiscard]] const PickleValue* member(std::string_view key) const;
};

// Protocols 0 to 5, the opcodes for data only. unsupported: an opcode that imports or calls something, or
// that data does not need; the text has its name. malformed: not a pickle, or truncated. exhausted: a limit.
[[nodiscard]] Result<PickleRef> parse_pickle(std::string_view bytes, const PickleLimits& limits = {});

}  // namespace autopilot::collect
