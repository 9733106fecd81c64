// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

// Which nodes are unhealthy, by findings of their agents and their states: the input of the breaker. Bounded.
// Not thread-safe.
class NodeTroubles {
 public:
  static constexpr std::size_t kMaxNodes = 32768;
  static constexpr std::size_t kMaxOfNode = 128;

  struct Trouble {
    std::string node;
    WallTime begin{};  // of the finding, which may be long before its record
    friend bool operator==(const Trouble&, const Trouble&) = default;
  };

  // The node that was healthy before this record and is not now. An unknown health changes nothing.
  [[nodiscard]] std::optional<Trouble> add(const Record& record);

 private:
  [[nodiscard]] bool begin(std::string_view node, std::string trouble);
  void end(std::string_view node, const std::string& trouble);

  std::map<std::string, std::set<std::string>, std::less<>> nodes_;  // unhealthy ones, with their troubles
};

}  // namespace autopilot::jobs
