// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "drift/facts.hpp"
#include "drift/recipe.hpp"
#include "drift/siblings.hpp"

namespace autopilot::cli {

// One machine beside a recipe.
struct RecipeReport {
  std::string node;
  std::string recipe;  // its file
  std::vector<drift::Comparison> comparisons;

  [[nodiscard]] std::size_t count(drift::RowResult result) const;
};

[[nodiscard]] std::string render_facts(const drift::FactSet& facts, const TableStyle& style);
[[nodiscard]] std::string render_report(const RecipeReport& report, const TableStyle& style);
// `nodes`: how many were compared.
[[nodiscard]] std::string render_siblings(const drift::SiblingReport& report, std::size_t nodes,
                                          const TableStyle& style);

[[nodiscard]] std::string facts_json(const drift::FactSet& facts);
[[nodiscard]] std::string reports_json(const std::vector<RecipeReport>& reports);
[[nodiscard]] std::string siblings_json(const drift::SiblingReport& report, std::size_t nodes);

}  // namespace autopilot::cli
