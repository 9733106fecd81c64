// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/custom/script_check.hpp"
#include "checks/kernel_log/decode.hpp"

namespace autopilot::checks {

inline constexpr std::string_view kLogRulesCheck = "custom.log_rules";

// The log rules of the operator alone (catalog/operator_rules.hpp): what a rule of ours or gpu.xid recognises
// as well is still theirs to judge. Immutable.
class OperatorRules {
 public:
  explicit OperatorRules(const std::vector<catalog::LogRule>& rules);

  [[nodiscard]] const catalog::Catalog& facts() const { return facts_; }
  [[nodiscard]] const Decoder& decoder() const { return decoder_; }
  [[nodiscard]] bool recognise(const host::KernelRecord& record) const;

 private:
  catalog::Catalog facts_;
  Decoder decoder_;
};

// What the kernel wrote, by these rules. judge needs a catalog with them.
[[nodiscard]] Check log_rules_check(std::shared_ptr<const OperatorRules> rules);

}  // namespace autopilot::checks
