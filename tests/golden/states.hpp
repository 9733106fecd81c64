// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/result.hpp"
#include "golden/expectation_file.hpp"

namespace autopilot::golden {

// An entry of tests/golden/states.yaml: a state that a check cannot have.
struct Impossible {
  std::string check;
  std::string state;
  std::string why;
  std::vector<std::string> reasons;  // all that the check has
};

[[nodiscard]] Result<std::vector<Impossible>> parse_impossible(std::string_view text,
                                                               const std::string& file);

// A golden case as stored on disk.
struct StatedCase {
  std::string check;
  std::string name;
  std::string description;  // of its machine
  Outcome outcome;
};

// Problems of the cases of these checks, one line each: a state without a case or an entry, an entry that the
// catalog contradicts, a case whose result does not match its name.
[[nodiscard]] std::vector<std::string> missing_states(const std::vector<std::string>& checks,
                                                      const std::vector<StatedCase>& cases,
                                                      const std::vector<Impossible>& impossible,
                                                      const catalog::Catalog& catalog);

}  // namespace autopilot::golden
