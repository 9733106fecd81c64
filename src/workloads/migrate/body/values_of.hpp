// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace autopilot::workloads::migrate {

// Values of variables that are known without running the script.
class KnownValues {
 public:
  static constexpr std::size_t kLongest = 16384;  // of a value; a longer one is unknown

  void set(const std::string& name, std::string value);
  void forget(const std::string& name) { values_.erase(name); }
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }

  // The text with the values of $N, ${N}, ${N:-1} and $((N * 2)) in place; nullopt: it needs a value that is
  // not known, or a command.
  [[nodiscard]] std::optional<std::string> expand(std::string_view text) const;
  // The expanded text as a whole number of at least 1.
  [[nodiscard]] std::optional<int> count(std::string_view text) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace autopilot::workloads::migrate
