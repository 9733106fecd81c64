// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::kube {

// Splits a stream of bytes into lines.
class LineReader {
 public:
  explicit LineReader(std::size_t longest) : longest_(longest) {}

  // Calls `on_line` for each complete line, without its end; skips empty lines. exhausted: a line is too
  // long; then reading stops.
  [[nodiscard]] Status feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line);

 private:
  std::size_t longest_;
  std::string begun_;
};

}  // namespace autopilot::kube
