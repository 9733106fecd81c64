// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/kernel_log/decode.hpp"
#include "core/script_answer.hpp"

namespace autopilot::checks {

inline constexpr std::string_view kCustomPrefix = "custom.";

// A check of the operator: a script that reports the health of the machine.
struct Script {
  std::string name;  // the check's id is "custom.<name>"
  std::string path;
  Duration period;
  Duration deadline;
};

// `run` executes the script on the watched machine and returns its answer; called on a worker.
[[nodiscard]] Check script_check(const Script& script,
                                 std::function<Result<ScriptAnswer>(MonoTime deadline)> run);

inline constexpr std::string_view kLogRulesCheck = "custom.log_rules";

// Only the operator's log rules (catalog/log_rules.hpp). Lines that also match a built-in rule are
// judged by the built-in check as well. Immutable.
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

// Judges the kernel log by these rules. judge needs a catalog that contains them.
[[nodiscard]] Check log_rules_check(std::shared_ptr<const OperatorRules> rules);

}  // namespace autopilot::checks
