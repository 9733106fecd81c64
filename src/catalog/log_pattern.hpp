// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/result.hpp"

namespace autopilot::catalog {

// How patterns of log rules are matched: byte by byte, anywhere in the text, a dot is a newline as well. The
// reader of rules and the decoder of records use nothing else, so what one accepts the other can run.
inline constexpr std::size_t kMaxPatternMemory = std::size_t{1} << 20;   // of one pattern
inline constexpr std::size_t kMaxPatternsMemory = std::size_t{8} << 20;  // of all that are matched together

// One pattern. Immutable, thread-safe.
class LogPattern {
 public:
  // The named groups that took part, views into the text.
  using Groups = std::vector<std::pair<std::string, std::string_view>>;

  // malformed: no such pattern; exhausted: it needs more than kMaxPatternMemory.
  [[nodiscard]] static Result<LogPattern> compile(const std::string& pattern);

  [[nodiscard]] bool has_group(const std::string& name) const;
  // Nothing where it does not match.
  [[nodiscard]] std::optional<Groups> match(std::string_view text) const;

 private:
  struct Compiled;
  explicit LogPattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

// The patterns of several rules, matched in one pass over the text. Immutable, thread-safe.
class LogPatterns {
 public:
  struct Match {
    std::size_t rule = 0;  // the first in the order of the rules that matches
    LogPattern::Groups groups;
  };

  // As LogPattern::compile for each; exhausted: together they need more than kMaxPatternsMemory.
  [[nodiscard]] static Result<LogPatterns> compile(const std::vector<LogRule>& rules);

  [[nodiscard]] std::optional<Match> first_match(std::string_view text) const;

 private:
  struct Compiled;
  explicit LogPatterns(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

// How many of these rules, from the first on, can be matched together: all of them where that is their size.
[[nodiscard]] std::size_t how_many_fit(const std::vector<LogRule>& rules);

}  // namespace autopilot::catalog
