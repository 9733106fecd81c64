// SPDX-License-Identifier: Apache-2.0
#include "incidents/confidence.hpp"

namespace autopilot::incidents {

double confidence_of(const Finding& finding, const ReasonLookup& reasons) {
  if (const Value* value = find_attribute(finding.evidence, "confidence"); value != nullptr)
    if (const auto number = as_number(*value)) return *number;
  const catalog::Reason* facts = reasons ? reasons(finding.reason) : nullptr;
  return facts == nullptr ? catalog::Reason{}.confidence : facts->confidence;
}

}  // namespace autopilot::incidents
