// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/line_verdict.hpp"
#include "cli/explain/explained.hpp"

namespace autopilot::cli {

// Pages of the catalog: meaning, confidence, action, clear condition, evidence against. Pure.
[[nodiscard]] Explained explain(Action action, const catalog::Catalog& facts);
[[nodiscard]] Explained explain(const catalog::CheckPage& check, const catalog::Catalog& facts);
[[nodiscard]] Explained explain(const catalog::Reason& reason);
[[nodiscard]] Explained explain(const catalog::Threshold& threshold);
[[nodiscard]] Explained explain(const catalog::Xid& xid, const catalog::Catalog& facts);
[[nodiscard]] Explained explain(const catalog::Sxid& sxid, const catalog::Catalog& facts);
// A rule for lines of the kernel log, and the reason of the finding that such a line makes.
[[nodiscard]] Explained explain(const catalog::LogRule& rule, const catalog::Catalog& facts);
// A rule that joins findings and records to one incident.
[[nodiscard]] Explained explain(const catalog::Cause& cause);
// A log line: its attributes, the verdict of its check (verdict_on), and the catalog page of its kind.
[[nodiscard]] Explained explain(const checks::DecodedRecord& record, const checks::LineVerdict& verdict,
                                const catalog::Catalog& facts);

}  // namespace autopilot::cli
