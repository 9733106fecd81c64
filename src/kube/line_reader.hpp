// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::kube {

// Bytes as they come, line by line.
class LineReader {
 public:
  explicit LineReader(std::size_t longest) : longest_(longest) {}

  // Calls `on_line` for each that is complete, without its end; empty ones are left out. exhausted: a line is
  // longer than allowed, and nothing more is read.
  [[nodiscard]] Status feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line);

 private:
  std::size_t longest_;
  std::string begun_;
};

}  // namespace autopilot::kube
