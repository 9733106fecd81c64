// SPDX-License-Identifier: Apache-2.0
#include "checks/custom/log_rules_check.hpp"

#include <utility>

#include "checks/kernel_log/rule_events.hpp"
#include "checks/kernel_log/rule_findings.hpp"

namespace autopilot::checks {
namespace {

catalog::Catalog only(const std::vector<catalog::LogRule>& rules) {
  catalog::Facts facts;
  facts.log_rules = rules;
  return catalog::Catalog(std::move(facts));
}

}  // namespace

OperatorRules::OperatorRules(const std::vector<catalog::LogRule>& rules)
    : facts_(only(rules)), decoder_(facts_) {}

bool OperatorRules::recognise(const host::KernelRecord& record) const {
  return decoder_.decode_by_rules(record).has_value();
}

Check log_rules_check(std::shared_ptr<const OperatorRules> rules) {
  Check check;
  check.info.id = kLogRulesCheck;
  check.info.title = "Kernel lines of your own rules";
  check.info.tags = {"custom", "kernel_log"};
  check.info.period = std::chrono::seconds{10};
  check.info.deadline = std::chrono::seconds{10};
  check.info.window = std::chrono::hours{1};
  check.info.witnesses = {"/dev/kmsg"};
  check.info.rights = {"CAP_SYSLOG"};
  check.observe = [rules = std::move(rules)](const host::Host& host,
                                             const Request& request) -> Result<Observed> {
    Observed observed;
    TRY_STATUS(add_rule_events(host, request, rules->decoder(), rules->facts(), observed));
    return observed;
  };
  check.judge = rule_findings;
  return check;
}

}  // namespace autopilot::checks
