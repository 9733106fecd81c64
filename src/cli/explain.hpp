// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/line_verdict.hpp"

namespace autopilot::cli {

// Pages of the catalog, 80 columns: meaning, confidence, action, clear condition, evidence against. Pure.
[[nodiscard]] std::string explain(Action action, const catalog::Catalog& facts);
[[nodiscard]] std::string explain(const catalog::CheckPage& check, const catalog::Catalog& facts);
[[nodiscard]] std::string explain(const catalog::Reason& reason);
[[nodiscard]] std::string explain(const catalog::Threshold& threshold);
[[nodiscard]] std::string explain(const catalog::Xid& xid, const catalog::Catalog& facts);
[[nodiscard]] std::string explain(const catalog::Sxid& sxid, const catalog::Catalog& facts);
// A log line: its attributes, the verdict of its check (verdict_on), and the catalog page of its kind.
[[nodiscard]] std::string explain(const checks::DecodedRecord& record, const checks::LineVerdict& verdict,
                                  const catalog::Catalog& facts);

}  // namespace autopilot::cli
