// SPDX-License-Identifier: Apache-2.0
#include "checks/last_results.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "checks/judgement.hpp"
#include "core/attribute_text.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_valid(const ResultForm& form, const Observation& found) {
  return found.value && (form.words.empty() ? as_number(*found.value).has_value()
                                            : is_one_of(form.words, to_string(*found.value)));
}

void add_malformed(const JudgeInput& input, const Observation& found, const Value& value,
                   Findings& findings) {
  findings.push_back(make_finding(input, found.subject, "malformed_answer", Health::unknown,
                                  found.name + " is '" + to_string(value) + "', which is not a valid value"));
  findings.back().evidence.emplace_back("witness", found.source);
}

// A diagnostic that ran on a subject and has no result for it proves nothing.
void add_without_result(const JudgeInput& input, const ResultForm& form, Findings& findings) {
  std::set<Subject> seen{host_subject()};
  for (const Observation& found : input.history.latest())
    if (is_one_of(form.found, found.name)) seen.insert(found.subject);
  for (const Observation& other : input.history.latest())
    if (seen.insert(other.subject).second)
      findings.push_back(make_finding(input, other.subject, "malformed_answer", Health::unknown,
                                      "the results of the diagnostic lack " +
                                          std::string(form.found.front()) + " for " +
                                          to_string(other.subject)));
}

// Why no subject has a result.
Finding nothing_found(const JudgeInput& input, const ResultForm& form, const Observation* outcome,
                      bool has_any) {
  const std::string word = outcome != nullptr && outcome->value ? to_string(*outcome->value) : "";
  if (has_any || (!word.empty() && word == form.nothing_to_test))
    return make_finding(input, host_subject(), "not_present", Health::unsupported,
                        "this machine has nothing to test");
  if (outcome == nullptr)
    return make_finding(input, host_subject(), "malformed_answer", Health::unknown,
                        "the results of the diagnostic lack " + std::string(form.outcome));
  if (word == form.outcomes.front())
    return make_finding(input, host_subject(), "malformed_answer", Health::unknown,
                        "the diagnostic ended, and its results lack " + std::string(form.found.front()));
  const std::string by = attribute_text(*outcome, "by");
  return make_finding(input, host_subject(), "could_not_look", Health::unknown,
                      "the diagnostic has not run yet: " + word + (by.empty() ? "" : " by " + by));
}

}  // namespace

CheckInfo active_check_info(std::string_view id, std::string title, std::string_view domain,
                            std::string_view witness, Duration period) {
  return {.id = std::string(id),
          .title = std::move(title),
          .tags = {std::string(domain), "active"},
          .period = period,
          .deadline = std::chrono::seconds{5},
          .window = std::chrono::minutes{10},
          .cost = Cost::cheap,
          .witnesses = {std::string(witness)},
          .rights = {},
          .needs_window = false};
}

void note_tested(Observations& results) {
  for (Observation& result : results)
    if (result.missing != host::kNotTested)
      result.attributes.emplace_back("testedAt", format_time(result.time.wall));
}

Result<Observed> last_results(const host::Host& host, const Request& request, std::string_view check,
                              std::string_view witness) {
  Observed observed;
  observed.observations = TRY(host.tests.last(check));
  note_tested(observed.observations);
  for (Observation& observation : observed.observations)
    observation.time = request.now;
  observed.witnesses = {std::string(witness)};
  return observed;
}

void add_unusable(const JudgeInput& input, const ResultForm& form, Findings& findings) {
  const std::size_t before = findings.size();
  add_unread(input, host_subject(), form.outcome, findings);
  const Observation* outcome = input.history.find(host_subject(), form.outcome);
  if (outcome != nullptr && outcome->value && !is_one_of(form.outcomes, to_string(*outcome->value)))
    add_malformed(input, *outcome, *outcome->value, findings);
  bool has_any = false;
  bool has_good = false;
  for (const Observation& found : input.history.latest()) {
    if (!is_one_of(form.found, found.name)) continue;
    has_any = true;
    add_unread(input, found.subject, found.name, findings);
    if (is_valid(form, found))
      has_good = true;
    else if (found.value)
      add_malformed(input, found, *found.value, findings);
  }
  add_without_result(input, form, findings);
  if (!has_good && findings.size() == before)
    findings.push_back(nothing_found(input, form, outcome, has_any));
}

}  // namespace autopilot::checks
