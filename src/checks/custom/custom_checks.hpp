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

// A check of the operator: a script that says how the machine is.
struct Script {
  std::string name;  // the check is "custom.<name>"
  std::string path;
  Duration period;
  Duration deadline;
};

// `run` runs the script on the machine that is watched and gives what it said; called on a lane.
[[nodiscard]] Check script_check(const Script& script,
                                 std::function<Result<ScriptAnswer>(MonoTime deadline)> run);

inline constexpr std::string_view kLogRulesCheck = "custom.log_rules";

// The log rules of the operator alone (catalog/log_rules.hpp): what a rule of ours or gpu.xid recognises
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
