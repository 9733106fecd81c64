// SPDX-License-Identifier: Apache-2.0
#include "golden/states.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"
#include "core/yaml.hpp"

namespace autopilot::golden {
namespace {

constexpr std::array<std::string_view, 5> kStates{"healthy", "degraded", "failed", "cannot_look", "hangs"};
constexpr std::string_view kFalsePositive = "false_positive_";

// The health that a case of this name shows; empty: any.
std::string_view health_of_state(std::string_view state) {
  if (state == "cannot_look") return "unknown";
  return state == "hangs" ? std::string_view{} : state;
}

bool has_finding(const Outcome& outcome, std::string_view health) {
  return std::any_of(outcome.findings.begin(), outcome.findings.end(),
                     [health](const ExpectedFinding& finding) { return finding.health == health; });
}

// True when the description names a repository ("owner/name") that the page of the check names as well.
bool names_a_report(const std::string& description, const catalog::CheckPage& page) {
  const std::string known = page.false_positive + " " + page.provenance.source;
  for (std::string_view word : split_words(description)) {
    while (!word.empty() && std::string_view("(),;:.").find(word.front()) != std::string_view::npos)
      word.remove_prefix(1);
    while (!word.empty() && std::string_view("(),;:.").find(word.back()) != std::string_view::npos)
      word.remove_suffix(1);
    if (word.find('/') != std::string_view::npos && known.find(word) != std::string::npos) return true;
  }
  return false;
}

class StatesOfCheck {
 public:
  StatesOfCheck(std::string check, const std::vector<StatedCase>& cases,
                const std::vector<Impossible>& impossible, const catalog::Catalog& catalog)
      : check_(std::move(check)), page_(catalog.check(check_)) {
    for (const StatedCase& each : cases)
      if (each.check == check_) cases_.push_back(&each);
    for (const Impossible& each : impossible)
      if (each.check == check_) impossible_.push_back(&each);
    for (const catalog::Reason& reason : catalog.reasons())
      if (std::find(reason.checks.begin(), reason.checks.end(), check_) != reason.checks.end())
        reasons_.push_back(&reason);
  }

  std::vector<std::string> problems() {
    for (const std::string_view state : kStates)
      judge_state(std::string(state));
    for (const Impossible* entry : impossible_)
      judge_entry(*entry);
    for (const StatedCase* each : cases_)
      judge_name(*each);
    if (page_ == nullptr)
      add("has no page in the catalog");
    else if (std::none_of(cases_.begin(), cases_.end(), [this](const StatedCase* each) {
               return each->name.starts_with(kFalsePositive) && names_a_report(each->description, *page_);
             }))
      add("no case false_positive_* whose machine names a report (owner/repository) that its page names too");
    return std::move(problems_);
  }

 private:
  void add(const std::string& problem) { problems_.push_back(check_ + ": " + problem); }
  [[nodiscard]] const StatedCase* find(std::string_view name) const {
    const auto found = std::find_if(cases_.begin(), cases_.end(),
                                    [name](const StatedCase* each) { return each->name == name; });
    return found == cases_.end() ? nullptr : *found;
  }

  void judge_state(const std::string& state) {
    const bool is_impossible = std::any_of(impossible_.begin(), impossible_.end(),
                                           [&](const Impossible* entry) { return entry->state == state; });
    const StatedCase* found = find(state);
    if (found == nullptr && !is_impossible)
      add("no case `" + state + "`, and states.yaml does not say why there can be none");
    if (found != nullptr && is_impossible)
      add("states.yaml says that `" + state + "` cannot be; there is a case");
    if (found == nullptr) return;
    const std::string_view health = health_of_state(state);
    if (!health.empty() && found->outcome.health != health)
      add("the case `" + state + "` is " + found->outcome.health + ", not " + std::string(health));
    if (state == "healthy" && (found->outcome.witnesses.empty() || found->outcome.looked_at.empty()))
      add("the case `healthy` has not looked at anything");
    if (state == "hangs") judge_hang(*found);
  }

  // Another witness may still look; that one does not is to be seen.
  void judge_hang(const StatedCase& hangs) {
    const StatedCase* healthy = find("healthy");
    if (healthy != nullptr && hangs.outcome.health == "healthy" &&
        hangs.outcome.witnesses == healthy->outcome.witnesses)
      add("the case `hangs` says the same as `healthy`");
  }

  void judge_entry(const Impossible& entry) {
    if (entry.state != "degraded" && entry.state != "failed")
      return add("states.yaml: every check can be `" + entry.state + "`");
    if (entry.why.empty()) add("states.yaml: `" + entry.state + "` has no why");
    for (const catalog::Reason* reason : reasons_) {
      if (to_string(reason->max_health) == entry.state)
        add("states.yaml says that `" + entry.state + "` cannot be; the catalog lets " + reason->id +
            " say it");
      if (std::find(entry.reasons.begin(), entry.reasons.end(), reason->id) == entry.reasons.end())
        add("states.yaml: `" + entry.state + "` does not account for the reason " + reason->id);
    }
    for (const std::string& word : entry.reasons)
      if (std::none_of(reasons_.begin(), reasons_.end(),
                       [&word](const catalog::Reason* reason) { return reason->id == word; }))
        add("states.yaml: `" + entry.state + "`: the check has no reason " + word);
  }

  // failed_amd shows something failed; a false alarm shows nothing.
  void judge_name(const StatedCase& each) {
    const std::string& health = each.outcome.health;
    if (each.name.starts_with(kFalsePositive) && health != "healthy" && health != "unsupported")
      add("the case `" + each.name + "` is " + health);
    for (const std::string_view state : kStates) {
      const std::string_view shown = health_of_state(state);
      if (state == "healthy" || shown.empty() || !each.name.starts_with(std::string(state) + "_")) continue;
      if (!has_finding(each.outcome, shown))
        add("the case `" + each.name + "` has no finding that is " + std::string(shown));
    }
  }

  const std::string check_;
  const catalog::CheckPage* page_;
  std::vector<const StatedCase*> cases_;
  std::vector<const Impossible*> impossible_;
  std::vector<const catalog::Reason*> reasons_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<std::vector<Impossible>> parse_impossible(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  std::vector<Impossible> entries;
  {
    YamlMap map(document, "states", problems);
    if (const YamlNode* list = map.list("cannot_be"))
      for (const YamlNode& item : list->items) {
        YamlMap entry(item, "state", problems);
        entries.push_back({.check = entry.required_word("check"),
                           .state = entry.required_word("state"),
                           .why = entry.required_word("why"),
                           .reasons = entry.required_words("reasons")});
      }
  }
  TRY_STATUS(problems.status());
  return entries;
}

std::vector<std::string> missing_states(const std::vector<std::string>& checks,
                                        const std::vector<StatedCase>& cases,
                                        const std::vector<Impossible>& impossible,
                                        const catalog::Catalog& catalog) {
  std::vector<std::string> problems;
  for (const std::string& check : checks)
    for (std::string& problem : StatesOfCheck(check, cases, impossible, catalog).problems())
      problems.push_back(std::move(problem));
  const auto is_unknown = [&checks](const std::string& check) {
    return std::find(checks.begin(), checks.end(), check) == checks.end();
  };
  for (const Impossible& entry : impossible)
    if (is_unknown(entry.check)) problems.push_back("states.yaml: no check " + entry.check);
  return problems;
}

}  // namespace autopilot::golden
