// SPDX-License-Identifier: Apache-2.0
#include "kube/line_reader.hpp"

#include <utility>

namespace autopilot::kube {

Status LineReader::feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    begun_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (begun_.size() > longest_) break;
    const std::string line = std::exchange(begun_, {});
    if (!line.empty()) on_line(line);
  }
  begun_ += bytes;
  if (begun_.size() > longest_)
    return fail(Errc::exhausted, "a line of more than " + std::to_string(longest_) + " bytes");
  return {};
}

}  // namespace autopilot::kube
