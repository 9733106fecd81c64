// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "drift/facts.hpp"

namespace autopilot::drift {

// What a recipe expects of one fact. One member is set.
struct Expected {
  std::vector<std::string> one_of;  // exact values; a single one for a scalar
  std::optional<double> from;       // range, both ends included
  std::optional<double> to;         // likewise
  std::string min_version;          // empty: none
  bool is_any = false;              // any value: the fact must be known
};

// "550.54.15", "one of a, b", "262144 or more", "1500 to 9000", "version 550.54 or newer", "any value"
[[nodiscard]] std::string describe(const Expected& expected);
// True if the value is what is expected. A value that is not a number is in no range.
[[nodiscard]] bool accepts(const Expected& expected, std::string_view value);

struct RecipeRow {
  std::string key;  // may contain `*`, which stands for a name
  Expected expected;
  int line = 0;
};

struct Recipe {
  static constexpr std::size_t kMaxRows = 1000;

  std::string name;  // empty: not stated
  std::vector<RecipeRow> rows;
};

// One YAML document: `name` and `facts`, a map from keys of fact_families() to a value, a list of values, or
// a map with `from`, `to`, `min_version` or `any`. malformed: every problem as "<name>:<line>: ...", with the
// nearest key for an unknown one.
[[nodiscard]] Result<Recipe> parse_recipe(std::string_view text, std::string_view name);

// Compares versions part by part: numbers by value, other parts as text. "6.8.0-51" < "6.8.0-100".
[[nodiscard]] std::strong_ordering compare_versions(std::string_view a, std::string_view b);

enum class RowResult : std::uint8_t { as_expected, differs, missing };

// A fact of the machine beside what the recipe expects.
struct Comparison {
  std::string key;    // of the fact; of the recipe if no fact has it
  std::string found;  // empty: missing
  std::string expected;
  RowResult result = RowResult::as_expected;
  int line = 0;  // of the recipe
  std::string source;
  std::string reason;  // why the fact is missing; empty: not known
};

// A comparison for each fact that a row selects, in the order of the recipe. A row that selects no fact gives
// a comparison with RowResult::missing.
[[nodiscard]] std::vector<Comparison> compare(const FactSet& facts, const Recipe& recipe);

}  // namespace autopilot::drift
