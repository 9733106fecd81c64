// SPDX-License-Identifier: Apache-2.0
#include "checks/custom/log_rules_check.hpp"

#include <string>
#include <utility>

#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "checks/kernel_log/rule_findings.hpp"

namespace autopilot::checks {
namespace {

// The operator's rules alone: what a rule of ours recognises as well is still theirs to judge.
struct OwnRules {
  explicit OwnRules(catalog::Facts own) : facts(std::move(own)), decoder(facts) {}

  catalog::Catalog facts;
  Decoder decoder;
};

}  // namespace

Check log_rules_check(const std::vector<catalog::LogRule>& rules) {
  catalog::Facts facts;
  facts.log_rules = rules;
  Check check;
  check.info.id = kLogRulesCheck;
  check.info.title = "Kernel lines of your own rules";
  check.info.tags = {"custom", "kernel_log"};
  check.info.period = std::chrono::seconds{10};
  check.info.deadline = std::chrono::seconds{10};
  check.info.window = std::chrono::hours{1};
  check.info.witnesses = {"/dev/kmsg"};
  check.info.rights = {"CAP_SYSLOG"};
  check.observe = [own = std::make_shared<const OwnRules>(std::move(facts))](
                      const host::Host& host, const Request& request) -> Result<Observed> {
    Observed observed;
    TRY_STATUS(add_rule_events(host, request, own->decoder, own->facts, observed));
    return observed;
  };
  check.judge = rule_findings;
  return check;
}

}  // namespace autopilot::checks
