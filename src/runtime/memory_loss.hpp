// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/finding.hpp"

namespace autopilot::runtime {

// The name of the fact that holds why; empty or absent: nothing is lost.
inline constexpr std::string_view kMemoryLossFact = "memory.lost";

// What an earlier run knew may not be all there: what it held is not known to be over before each check has
// looked as often as it takes to find it again. Plain data; one owner.
class MemoryLoss {
 public:
  // cause: empty: nothing is lost. rounds: how often each check has to look, at least once.
  MemoryLoss(std::string cause, int rounds);

  [[nodiscard]] bool is_over() const { return cause_.empty(); }
  [[nodiscard]] const std::string& cause() const { return cause_; }
  // That check has seen all that it should.
  void note_look(std::string_view check);
  // It has not looked often enough since.
  [[nodiscard]] bool holds(std::string_view check) const;
  void end() { cause_.clear(); }
  // About the host, of health unknown.
  [[nodiscard]] Finding finding() const;

 private:
  std::string cause_;
  int rounds_;
  std::map<std::string, int, std::less<>> looks_;
};

}  // namespace autopilot::runtime
