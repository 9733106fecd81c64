// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/result.hpp"

namespace autopilot::catalog {

class Entry;

// Patterns of log rules are matched byte by byte, anywhere in the text; a dot also matches a newline. The
// reader of rules and the decoder of records both use this file, so the decoder can run every accepted
// pattern.
inline constexpr std::size_t kMaxPatternMemory = std::size_t{1} << 20;  // for one pattern
inline constexpr std::size_t kMaxPatternsMemory = std::size_t{8}
                                                  << 20;  // for all patterns that are matched together

// One pattern. Immutable, thread-safe.
class LogPattern {
 public:
  // Named groups that matched: views into the text.
  using Groups = std::vector<std::pair<std::string, std::string_view>>;

  // malformed: not a valid pattern; exhausted: it needs more than kMaxPatternMemory.
  [[nodiscard]] static Result<LogPattern> compile(const std::string& pattern);

  [[nodiscard]] bool has_group(const std::string& name) const;
  // std::nullopt if it does not match.
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

  // Errors as for LogPattern::compile; exhausted also: together they need more than kMaxPatternsMemory.
  [[nodiscard]] static Result<LogPatterns> compile(const std::vector<LogRule>& rules);

  [[nodiscard]] std::optional<Match> first_match(std::string_view text) const;

 private:
  struct Compiled;
  explicit LogPatterns(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

// The number of rules, from the first on, that can be matched together.
[[nodiscard]] std::size_t how_many_fit(const std::vector<LogRule>& rules);

// The keys that log rules of the catalog and of an operator share: id, pattern, title, and optionally health,
// action, class, subject, takes_back. The pattern must match each of `examples`.
[[nodiscard]] LogRule read_log_rule_core(Entry& entry, std::vector<std::string> examples);

inline constexpr std::size_t kMaxOperatorRules = 256;

// Log rules that an operator adds to those of the catalog, from files of the same form: name -> text. An
// entry needs id, pattern and title; with health (degraded or failed) its lines create findings, without it
// events. malformed lists every problem with file and line: a pattern that does not compile, an
// example that it does not match, an id that occurs twice or belongs to the catalog, rules that need too much
// memory together with those of `base` (kMaxPatternsMemory). What is accepted here can be decoded.
[[nodiscard]] Result<std::vector<LogRule>> parse_operator_rules(
    const std::map<std::string, std::string>& files, const Catalog& base);

// `base` with these rules before its own: they have precedence for a line that both match.
[[nodiscard]] Catalog with_log_rules(const Catalog& base, const std::vector<LogRule>& rules);

}  // namespace autopilot::catalog
