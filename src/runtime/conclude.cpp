// SPDX-License-Identifier: Apache-2.0
#include "runtime/conclude.hpp"

#include <exception>
#include <string>
#include <utility>

namespace autopilot::runtime {
namespace {

std::string_view reason_of(Errc code) {
  switch (code) {
    case Errc::denied:
      return kNotPermitted;
    case Errc::timed_out:
      return "timed_out";
    case Errc::malformed:
      return "malformed_answer";
    case Errc::unsupported:
      return "not_present";
    case Errc::internal:
      return "check_bug";
    default:
      return "could_not_look";
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

Findings judged(const checks::Check& check, const checks::JudgeInput& input) {
  try {
    return check.judge(input);
  } catch (const std::exception& error) {
    return {cannot_look(check.info, {Errc::internal, std::string("judge failed: ") + error.what()})};
  }
}

}  // namespace

Finding cannot_look(const CheckInfo& check, const Error& error) {
  Finding finding;
  finding.health = error.code == Errc::unsupported ? Health::unsupported : Health::unknown;
  finding.reason = reason_of(error.code);
  finding.message = error.what;
  if (error.code == Errc::denied && !check.rights.empty()) {
    finding.message += " (needs " + joined(check.rights) + ")";
    finding.evidence.emplace_back("missingRights", joined(check.rights));
  }
  finding.evidence.emplace_back("error", std::string(to_string(error.code)));
  return finding;
}

Finding not_looked_yet() {
  Finding finding;
  finding.reason = "not_looked_yet";
  finding.message = "the first look has not finished";
  return finding;
}

Findings conclude(const checks::Check& check, Result<checks::Observed> observed, Duration window, Instant now,
                  const catalog::Catalog& facts, const Expectation& expectation, History& history) {
  if (!observed) return {cannot_look(check.info, observed.error())};
  history.add(std::move(observed->observations), window);
  history.forget_before(now.mono - window);
  return judged(check, {now, history, facts, expectation});
}

Health health_of(const Findings& findings) {
  Health health = Health::healthy;
  bool whole_unsupported = false;
  for (const Finding& finding : findings) {
    health = worst(health, finding.health);
    if (finding.health == Health::unsupported && finding.subject == host_subject()) whole_unsupported = true;
  }
  return health == Health::healthy && whole_unsupported ? Health::unsupported : health;
}

}  // namespace autopilot::runtime
