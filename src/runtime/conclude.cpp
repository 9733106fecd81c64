// SPDX-License-Identifier: Apache-2.0
#include "runtime/conclude.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "checks/judgement.hpp"
#include "incidents/evidence.hpp"

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

// Adds, for each baseline of the check, the largest value so far, as known from the run before.
void add_baselines(const CheckInfo& info, const History& history, Observations& observations) {
  if (info.baselines.empty()) return;
  Observations largest;
  for (const Observation& observation : observations) {
    if (!observation.value || observation.is_event()) continue;
    const auto number = as_number(*observation.value);
    if (!number || std::ranges::find(info.baselines, observation.name.text()) == info.baselines.end())
      continue;
    Observation most = observation;
    most.name = most.name + ".largest";
    const auto known = history.samples(most.subject, most.name);
    const double before = known.empty() ? *number : as_number(known.back().value).value_or(*number);
    most.value = std::max(*number, before);
    most.attributes.clear();
    largest.push_back(std::move(most));
  }
  observations.insert(observations.end(), std::make_move_iterator(largest.begin()),
                      std::make_move_iterator(largest.end()));
}

// A judge may report it in its own words and with another reason.
bool is_reported(const Observation& missing, const Findings& findings) {
  const Value* error = find_attribute(missing.attributes, "error");
  return error != nullptr && std::ranges::any_of(findings, [&](const Finding& finding) {
           return finding.health == Health::unknown && finding.subject == missing.subject &&
                  finding.message.find(to_string(*error)) != std::string::npos;
         });
}

// Malformed data is always reported, in addition to the judge's findings.
void add_malformed(const checks::JudgeInput& input, Findings& findings) {
  for (const Observation& observation : input.history.latest())
    if (observation.missing == to_string(Errc::malformed) && !is_reported(observation, findings))
      checks::add_unread(input, observation.subject, observation.name, findings);
}

Findings judged(const checks::Check& check, const checks::JudgeInput& input) {
  try {
    Findings findings = check.judge(input);
    add_malformed(input, findings);
    return findings;
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
  finding.message = "the first run has not finished";
  return finding;
}

Finding asked_again() {
  Finding finding;
  finding.reason = "asked_again";
  finding.message = "a run found a fault that only a second run confirms; that run has not finished";
  return finding;
}

bool needs_confirmation(const Findings& found, const Findings& raised, const catalog::Catalog& facts) {
  return std::ranges::any_of(found, [&](const Finding& finding) {
    const catalog::Reason* reason = facts.reason(finding.reason);
    if (reason == nullptr || !reason->asks_again || !incidents::is_bad(finding.health)) return false;
    return std::ranges::none_of(raised, [&finding](const Finding& other) {
      return other.subject == finding.subject && other.reason == finding.reason &&
             (other.health == finding.health || other.health == Health::failed);
    });
  });
}

Findings conclude(const checks::Check& check, Result<checks::Observed> observed, Duration window, Instant now,
                  const catalog::Catalog& facts, const Expectation& expectation, History& history,
                  const LearnedLimits* learned) {
  if (!observed) return {cannot_look(check.info, observed.error())};
  add_baselines(check.info, history, observed->observations);
  history.add(std::move(observed->observations), window);
  history.forget_before(now.mono - window);
  return judged(check, {now, history, facts, expectation, learned});
}

Health health_of(const Findings& findings) {
  Health health = Health::healthy;
  bool whole_unsupported = false;
  for (const Finding& finding : findings) {
    if (finding.injected) continue;
    health = worst(health, finding.health);
    if (finding.health == Health::unsupported && finding.subject == host_subject()) whole_unsupported = true;
  }
  return health == Health::healthy && whole_unsupported ? Health::unsupported : health;
}

}  // namespace autopilot::runtime
