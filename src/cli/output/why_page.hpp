// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "catalog/catalog.hpp"
#include "cli/output/table.hpp"
#include "why/report.hpp"

namespace autopilot::cli {

inline constexpr std::size_t kWhyPageLines = 23;  // and the next prompt: 24

// The answer for a terminal, in at most kWhyPageLines lines: the cause with its time, grounds, advice and
// next command; other causes; the order of events; what was seen beside it; what was read and what was not.
// Texts of the machine are untrusted: control characters are replaced. Pure.
[[nodiscard]] std::string render_why(const why::Report& report, const catalog::Catalog& facts,
                                     const TableStyle& style);

// The whole answer as JSON, without limits of a screen.
[[nodiscard]] std::string why_json(const why::Report& report, const catalog::Catalog& facts);

// What to do about the evidence, a sentence; empty if nothing is known.
[[nodiscard]] std::string advice_on(const why::Evidence& evidence, const catalog::Catalog& facts);
// The command that shows more about the evidence; empty if there is none.
[[nodiscard]] std::string next_command(const why::Evidence& evidence, const catalog::Catalog& facts);

}  // namespace autopilot::cli
