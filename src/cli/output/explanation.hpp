// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decoded_record.hpp"
#include "checks/kernel_log/line_verdict.hpp"

namespace autopilot::cli {

// Facts of the catalog for a person, 80 columns: what it is, how sure, what to do now, how it clears, what
// would prove it wrong.
[[nodiscard]] std::string explain(const catalog::CheckPage& check, const catalog::Catalog& facts);
[[nodiscard]] std::string explain(const catalog::Reason& reason);
[[nodiscard]] std::string explain(const catalog::Threshold& threshold);
[[nodiscard]] std::string explain(const catalog::Xid& xid, const catalog::Catalog& facts);
[[nodiscard]] std::string explain(const catalog::Sxid& sxid, const catalog::Catalog& facts);
// Of a line: what is in it, what `check` says of it (verdict_on), and what is known of its kind.
[[nodiscard]] std::string explain(const checks::DecodedRecord& record, const checks::LineVerdict& verdict,
                                  const catalog::Catalog& facts);

}  // namespace autopilot::cli
