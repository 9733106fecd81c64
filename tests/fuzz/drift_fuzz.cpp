// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "drift/facts.hpp"
#include "drift/recipe.hpp"
#include "drift/siblings.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::drift_fuzz {

// Any file gives an error with a message, or facts that are read back and do not differ from themselves, and
// a recipe that can be compared.
int run(const std::uint8_t* data, std::size_t size) {
  using namespace autopilot::drift;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto facts = parse_facts(text, "facts.yaml");
  const auto recipe = parse_recipe(text, "recipe.yaml");
  if (!facts) AUTOPILOT_ASSERT(facts.error().what.starts_with("facts.yaml"));
  if (!recipe) AUTOPILOT_ASSERT(recipe.error().what.starts_with("recipe.yaml"));
  if (recipe)
    for (const Comparison& one : compare(facts.value_or(FactSet{}), *recipe))
      AUTOPILOT_ASSERT(one.line > 0 && !one.expected.empty());
  if (!facts) return 0;
  const auto again = parse_facts(format_facts(*facts), "again.yaml");
  AUTOPILOT_ASSERT(again && again->facts == facts->facts && again->missing == facts->missing);
  const std::vector<FactSet> siblings{*facts, *again, *facts};
  AUTOPILOT_ASSERT(compare_siblings(siblings).differences.empty());
  return 0;
}

}  // namespace autopilot::drift_fuzz
