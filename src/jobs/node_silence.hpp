// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::jobs {

// Which nodes are silent. Time is that of advance(), when a record arrived, not that of the record: the
// clocks of the nodes do not matter. Not thread-safe.
class NodeSilence {
 public:
  static constexpr Duration kLostAfter = std::chrono::seconds(60);
  // A node without a job is forgotten after this silence.
  static constexpr Duration kForgetAfter = std::chrono::hours(1);
  // A longer gap between two calls of advance() is a pause of the caller, not of the nodes.
  static constexpr Duration kLongestStep = std::chrono::seconds(30);

  explicit NodeSilence(std::size_t limit) : limit_(limit) {}

  enum class Heard : std::uint8_t { refused, known, back };
  // A record of the node arrived. refused: too many nodes. back: it was lost until now.
  [[nodiscard]] Heard hear(std::string_view node);
  // Appends the nodes that are lost from now on. Only a node for which `has_job` is true can become lost.
  void advance(WallTime now, const std::function<bool(const std::string& node)>& has_job,
               std::vector<std::string>& lost);
  [[nodiscard]] bool is_lost(std::string_view node) const;

 private:
  struct Node {
    bool was_heard = true;  // since the last advance()
    bool is_lost = false;
    WallTime last_heard{};
  };

  std::size_t limit_;
  std::map<std::string, Node, std::less<>> nodes_;
  std::optional<WallTime> now_;
};

}  // namespace autopilot::jobs
