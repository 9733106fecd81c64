// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/result.hpp"

namespace autopilot::catalog {

inline constexpr std::size_t kMaxOperatorRules = 256;

// Log rules that an operator adds to those of the catalog, from files of the same form: name -> text. An
// entry needs id, pattern and title; health (degraded or failed) makes a finding of its lines, which
// otherwise are events. malformed lists every problem with file and line: a pattern that does not compile, an
// example that it does not match, an id that stands twice or belongs to the catalog, rules that need too much
// memory together with those of `base` (log_pattern.hpp). What is accepted here can be decoded.
[[nodiscard]] Result<std::vector<LogRule>> parse_operator_rules(
    const std::map<std::string, std::string>& files, const Catalog& base);

// `base` with these rules before its own: a line that both match is the operator's.
[[nodiscard]] Catalog with_log_rules(const Catalog& base, const std::vector<LogRule>& rules);

}  // namespace autopilot::catalog
