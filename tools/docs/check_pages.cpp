// SPDX-License-Identifier: Apache-2.0
#include "docs/check_pages.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "docs/markdown.hpp"

namespace autopilot::docs {
namespace {

using catalog::Catalog;
using catalog::CheckPage;
using catalog::ClearRule;
using catalog::LogRule;
using catalog::Reason;
using catalog::Threshold;

constexpr std::string_view kAll = "Everything.";

// The reasons of a check, the worst first.
std::vector<const Reason*> reasons_of(const Catalog& facts, const CheckPage& check) {
  std::vector<const Reason*> found;
  for (const Reason& reason : facts.reasons())
    if (belongs_to(reason, check.id)) found.push_back(&reason);
  std::ranges::stable_sort(found, [](const Reason* a, const Reason* b) {
    return a->max_health != b->max_health && worst(a->max_health, b->max_health) == a->max_health;
  });
  return found;
}

// Such as "reboot": a shorter form of catalog::how_it_clears for a cell.
std::string clears(const Reason& reason) {
  switch (reason.clear) {
    case ClearRule::healthy_rounds:
      return std::to_string(reason.clear_rounds) + " healthy " + (reason.clear_rounds == 1 ? "run" : "runs") +
             (reason.clear_after > Duration{0} ? " and " + format_duration(reason.clear_after) : "");
    case ClearRule::gpu_reset:
      return "reset or reboot";
    case ClearRule::reboot:
      return "reboot";
    case ClearRule::expiry:
      return format_duration(reason.clear_after) + " without it";
    case ClearRule::acknowledged:
      return "acknowledgement";
    case ClearRule::replaced:
      return "replacement";
  }
  return "";
}

bool clears_as_usual(const Reason& reason) {
  return reason.clear == ClearRule::healthy_rounds && reason.clear_rounds == 2 &&
         reason.clear_after == Duration{0};
}

// Such as "failed after 2 runs until reboot".
std::string course(const Reason& reason) {
  std::string text(to_string(reason.max_health));
  if (reason.raise_rounds > 1) text += " after " + std::to_string(reason.raise_rounds) + " runs";
  if (!clears_as_usual(reason)) text += " until " + clears(reason);
  if (!reason.hides.empty()) text += "; keeps open: " + join(reason.hides, true);
  return text;
}

std::string reason_row(const Reason& reason) {
  std::string row = "| <a id=\"" + reason.id + "\"></a>" + code(reason.id) + ": " + cell(reason.title) +
                    " | " + cell(reason.cure);
  if (reason.action != Action::none) row += " (" + action_text(reason.action) + ")";
  return row + " | " + course(reason) + " | " + cell(reason.disproof) + " |\n";
}

std::string reasons_table(const std::vector<const Reason*>& reasons) {
  std::string text = "| reason | what you do | health at worst | false alarm if |\n|---|---|---|---|\n";
  for (const Reason* reason : reasons)
    text += reason_row(*reason);
  return text + "\n";
}

// What each profile can check, if that differs.
std::string profiles_of(const CheckPage& check) {
  if (check.local == kAll && check.dropin == kAll && check.full == kAll) return "";
  if (check.local == check.dropin && check.dropin == check.full) return "\n\n- Every profile: " + check.local;
  if (check.dropin == check.full)
    return "\n\n- `local`: " + check.local + "\n- `dropin`, `full`: " + check.dropin;
  return "\n\n- `local`: " + check.local + "\n- `dropin`: " + check.dropin + "\n- `full`: " + check.full;
}

std::string head_of(const CheckPage& check) {
  return std::string(kNote) + "# " + check.title + " (" + code(check.id) + ")\n\n" + check.summary +
         "\n\nData sources: " + join(check.witnesses, false) + "." +
         (check.rights.empty() ? "" : " Permissions: " + join(check.rights, true) + ".") +
         profiles_of(check) + "\n\n";
}

// The rules with a reason by reason, and the rest, which are evidence.
std::string log_rules_of(const Catalog& facts, const CheckPage& check) {
  std::map<std::string, std::vector<std::string>> by_result;
  std::vector<std::string> evidence;
  for (const std::string& id : check.log_rules) {
    const LogRule* rule = facts.log_rule(id);
    if (rule == nullptr) continue;
    if (rule->reason.empty())
      evidence.push_back(id);
    else
      by_result[code(rule->reason) + ", " + std::string(to_string(rule->health))].push_back(id);
  }
  if (by_result.empty() && evidence.empty()) return "";
  std::string text = "## Kernel log ([lines](../log_rules.md))\n\n";
  for (const auto& [result, ids] : by_result)
    text += "- " + result + ": " + join(ids, true) + "\n";
  if (!evidence.empty()) text += "- evidence: " + join(evidence, true) + "\n";
  return text + "\n";
}

std::string thresholds_of(const Catalog& facts, const CheckPage& check) {
  std::string rows;
  std::string previous;
  for (const Threshold& threshold : facts.thresholds()) {
    if (!threshold.id.starts_with(check.id + ".")) continue;
    const std::string source = short_origin(threshold.provenance);
    rows += "| " + code(threshold.id) + " | " + number(threshold.value) + ' ' + cell(threshold.unit) +
            (threshold.max_health == Health::failed ? ", failed" : "") + " | " + cell(threshold.meaning) +
            " | " + (source == previous ? "as above" : cell(source)) + " |\n";
    previous = source;
  }
  if (rows.empty()) return "";
  return "## Thresholds\n\n| threshold | value | meaning | source |\n|---|---|---|---|\n" + rows + "\n";
}

bool can_fail(const Catalog& facts, const CheckPage& check) {
  const auto reasons = reasons_of(facts, check);
  return !reasons.empty() && reasons.front()->max_health == Health::failed;
}

constexpr std::string_view kHowToRead =
    "Find the reason of your finding in the table of the page of its check; the second column states what "
    "you do.\n"
    "`autopilot explain REASON` and [reasons](../reasons.md) add what the reason means.\n\n"
    "- **Data sources** are in order of trust. A check is unknown only if none answers: see the [reasons "
    "about any "
    "check](../reasons.md#about-any-check).\n"
    "- **`local`, `dropin`, `full`**: what a [profile](../privileges.md) can check. A page without them: "
    "everything.\n"
    "- **What you do**: in parentheses the [action](../reasons.md#actions).\n"
    "- **Health at worst**: \"after 2 runs\" counts runs in a row, and \"until\" names what closes the "
    "finding; "
    "without it\n  two healthy runs do. No vendor calls the limits of a check without failed a failure.\n"
    "- **False alarms**: what the check cannot find, and an alarm of another project that it "
    "avoids.\n"
    "- **Thresholds** cause degraded, unless failed follows the value. \"More errors\" means more than the "
    "value. Set "
    "another\n  value under `expectation.thresholds` of the [configuration](../configuration.md). Kinds of "
    "sources: "
    "vendor, another\n  project (peer), measured, our own judgement.\n"
    "- **Test results**: the check judges the last test of this node, or the test between nodes that it "
    "started, and "
    "is as\n  old as that. Without results it is unsupported ([GPU tests](../gpu-tests.md), [network "
    "tests](../network-tests.md)).\n\n";

}  // namespace

bool belongs_to(const Reason& reason, std::string_view check) {
  return std::ranges::find(reason.checks, check) != reason.checks.end();
}

std::string check_page(const Catalog& facts, const CheckPage& check) {
  const auto reasons = reasons_of(facts, check);
  return head_of(check) + "## What you do ([columns](README.md))\n\n" + reasons_table(reasons) +
         "## False alarms\n\n" + check.how_wrong + "\n\n" + check.false_positive + "\n\n" +
         thresholds_of(facts, check) + log_rules_of(facts, check) +
         "Source: " + short_origin(check.provenance) + ".\n";
}

std::string checks_index(const Catalog& facts) {
  std::string page = std::string(kNote) + "# Checks\n\n" + std::string(kHowToRead) +
                     "| check | title | at worst |\n|---|---|---|\n";
  for (const CheckPage& check : facts.checks())
    page += "| [" + code(check.id) + "](" + check.id + ".md) | " + cell(check.title) + " | " +
            (can_fail(facts, check) ? "failed" : "degraded") + " |\n";
  return page;
}

}  // namespace autopilot::docs
