// SPDX-License-Identifier: Apache-2.0
#include "cli/explain.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/action_text.hpp"
#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/line_verdict.hpp"
#include "cli/cli.hpp"
#include "cli/explain_learned.hpp"
#include "cli/output/phrases.hpp"
#include "cli/output/print.hpp"
#include "cli/output/table.hpp"
#include "cli/verbs.hpp"
#include "core/parse.hpp"
#include "core/text.hpp"
#include "host/kernel_log/text_log.hpp"

namespace autopilot::cli {

namespace {

std::vector<std::string> every_id(const catalog::Catalog& facts) {
  std::vector<std::string> ids;
  for (const auto& check : facts.checks())
    ids.push_back(check.id);
  for (const auto& reason : facts.reasons())
    ids.push_back(reason.id);
  for (const auto& threshold : facts.thresholds())
    ids.push_back(threshold.id);
  return ids;
}

std::optional<std::string> explain_id(const catalog::Catalog& facts, std::string_view id) {
  if (const auto* check = facts.check(id)) return explain(*check, facts);
  if (const auto* reason = facts.reason(id)) return explain(*reason);
  if (const auto* threshold = facts.threshold(id))
    return explain(*threshold) + explain_learned_here(threshold->id);
  if (const auto action = parse_action(id)) return explain(*action, facts);
  return std::nullopt;
}

Result<std::uint32_t> code_in(std::string_view text, const std::string& kind, const std::string& example) {
  const auto code = parse_number<std::uint32_t>(text);
  if (code) return *code;
  return fail(Errc::malformed,
              kind + ": expected a number such as " + example + ", not '" + std::string(text) + "'");
}

std::string not_in_catalog(const std::string& name, std::uint32_t code) {
  return name + " " + std::to_string(code) +
         ": not in the catalog. Autopilot records it as an event of class unknown and takes no action.\n";
}

Result<std::string> explain_xid(const catalog::Catalog& facts, std::string_view text) {
  const std::uint32_t code = TRY(code_in(text, "xid", "79"));
  const auto* xid = facts.xid(code);
  return xid == nullptr ? not_in_catalog("Xid", code) : explain(*xid, facts);
}

Result<std::string> explain_sxid(const catalog::Catalog& facts, std::string_view text) {
  const std::uint32_t code = TRY(code_in(text, "sxid", "20034"));
  const auto* sxid = facts.sxid(code);
  if (sxid != nullptr) return explain(*sxid, facts);
  return not_in_catalog("SXid", code) + "If its line contains Fatal, the severity of the driver applies.\n";
}

// Page of a log line; nullopt: no known record in the line.
std::optional<std::string> explain_line(const catalog::Catalog& facts, const std::string& line) {
  const checks::Decoder decoder(facts);
  host::TextLogReader reader(
      [&decoder](const host::KernelRecord& record) { return decoder.decode(record).has_value(); });
  auto records = reader.add_line(line);
  std::ranges::move(reader.finish(), std::back_inserter(records));
  for (const host::KernelRecord& record : records)
    if (const auto decoded = decoder.decode(record))
      return explain(*decoded, checks::verdict_on(record, *decoded, facts), facts);
  return std::nullopt;
}

Result<std::string> explanation_of(const std::vector<std::string>& words) {
  const auto& facts = catalog::builtin();
  if (words.size() == 2 && to_lower(words[0]) == "xid") return explain_xid(facts, words[1]);
  if (words.size() == 2 && to_lower(words[0]) == "sxid") return explain_sxid(facts, words[1]);
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : " ") + word;
  if (const auto known = explain_id(facts, text)) return *known;
  if (const auto line = explain_line(facts, text)) return *line;
  std::string what = "nothing is known about '" + text + "'";
  if (const auto near = nearest_word(text, every_id(facts))) what += "; did you mean " + *near + "?";
  what +=
      "\nTry an Xid (autopilot explain xid 79), a check (autopilot explain gpu.xid), or a whole log line in "
      "quotes.";
  return fail(Errc::not_found, what);
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto first = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("explain", "Explain a finding, an Xid or a log line, and what to do");
  verb->add_option("what", *first,
                   "A check, reason, action or threshold; 'xid N', 'sxid N'; or a kernel log line in\n"
                   "quotes")
      ->required();
  // A multi-word option would not work: CLI11 parses "[ 1.5] usb 1-1: [x]" as a list in brackets.
  verb->allow_extras();
  verb->footer(
      "Examples:\n  autopilot explain row_remap_pending\n  autopilot explain gpu.row_remap\n"
      "  autopilot explain xid 79\n"
      "  autopilot explain sxid 20034\n"
      "  autopilot explain \"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus\"");
  verb->callback([first, verb, &exit_code] {
    auto words = verb->remaining();
    if (std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("--"); }))
      throw CLI::ExtrasError(words);
    words.insert(words.begin(), *first);
    const auto text = explanation_of(words);
    if (!text) {
      exit_code = report_usage(text.error().what);
      return;
    }
    std::cout << *text;
    exit_code = kExitHealthy;
  });
}

namespace {

constexpr std::size_t kLabel = 16;
constexpr std::size_t kWidth = 80;

// A page of labelled paragraphs. Omits empty paragraphs.
class Page {
 public:
  explicit Page(std::string_view title) : text_(printable(title) + "\n\n") {}

  Page& add(std::string_view label, std::string_view paragraph) {
    bool first = true;
    for (const auto& line : wrapped(printable(paragraph), kWidth - kLabel)) {
      std::string cell(first ? label : "");
      cell.resize(std::max(kLabel, cell.size() + 1), ' ');
      text_ += cell + line + "\n";
      first = false;
    }
    return *this;
  }
  Page& add(const catalog::Provenance& provenance) {
    return add("Source", provenance.source + " (" + provenance.date + ", " +
                             std::string(catalog::to_string(provenance.evidence)) + ")");
  }
  Page& more(const std::string& page) {
    text_ += "\n" + page;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string percent(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}

std::string runs(int count) {
  return count == 1 ? "one run" : std::to_string(count) + " runs in a row";
}

std::string action_of(Action action) {
  return action == Action::none ? "no action" : catalog::action_text(action);
}

bool is_about(const catalog::Threshold& threshold, std::string_view check) {
  return threshold.id.size() > check.size() && threshold.id.starts_with(check) &&
         threshold.id[check.size()] == '.';
}

// A reason without findings may still open an incident of log lines, which ends after the last line.
std::string how_its_incident_ends(const catalog::Reason& reason) {
  if (reason.clear_after == Duration{0}) return "at once; only the event of the line remains";
  return "an incident of such lines alone closes " + format_duration(reason.clear_after) +
         " after the last line";
}

// An Xid or SXid; `reason` is the reason of its findings.
template <class DriverError>
void add_driver_error(Page& page, const DriverError& error, const std::string& confidence,
                      const catalog::Reason* reason) {
  page.add("What", error.meaning).add("Class", joined(error.classes)).add("Confidence", confidence);
  page.add("Health", error.health == Health::healthy ? std::string("an event only, no finding")
                                                     : std::string(to_string(error.health)));
  page.add("Do now", action_of(error.action_now)).add("If it repeats", action_of(error.action_later));
  if (reason != nullptr) {
    page.add("Clears", error.health == Health::healthy ? how_its_incident_ends(*reason)
                                                       : catalog::how_it_clears(*reason));
    page.add("May be wrong if", reason->disproof);
  }
  page.add(error.provenance);
}

std::string verdict_text(const checks::DecodedRecord& record, const checks::LineVerdict& verdict) {
  if (verdict.health != Health::healthy)
    return verdict.check + " reports " + std::string(to_string(verdict.health)) + " (" + verdict.reason +
           "). Action: " + action_of(verdict.action);
  if (record.from_user) return "no finding: user space wrote the line";
  return "no finding from this line alone";
}

// A line that contains no driver error.
std::string explain_rule(const catalog::LogRule& rule, const checks::LineVerdict& verdict,
                         const catalog::Catalog& facts) {
  Page page(rule.id + ": " + rule.title);
  const auto* reason = facts.reason(rule.reason.empty() ? verdict.reason : rule.reason);
  if (reason == nullptr) page.add("Health", "an event only, no finding: the line alone changes no verdict");
  for (const auto& check : facts.checks())
    if (std::ranges::find(check.log_rules, rule.id) != check.log_rules.end()) page.add("Read by", check.id);
  if (!rule.not_judged.empty()) page.add("Not judged", rule.not_judged);
  if (!rule.kernels.empty()) page.add("Kernels", rule.kernels);
  if (rule.unproven) page.add("Unproven", "no source proves this form of the line: degraded at worst");
  page.add(rule.provenance);
  if (reason != nullptr) page.more(explain(*reason));
  return page.text();
}

// The catalog page of the record's code or rule.
std::string explain_kind(const checks::DecodedRecord& record, const checks::LineVerdict& verdict,
                         const catalog::Catalog& facts) {
  if (record.code && record.kind == "xid")
    if (const auto* xid = facts.xid(*record.code)) return explain(*xid, facts);
  if (record.code && record.kind == "sxid")
    if (const auto* sxid = facts.sxid(*record.code)) return explain(*sxid, facts);
  if (const auto* rule = facts.log_rule(record.rule)) return explain_rule(*rule, verdict, facts);
  return {};
}

}  // namespace

std::string explain(const catalog::Reason& reason) {
  Page page(reason.id + ": " + reason.title);
  page.add("What", reason.meaning).add("At worst", to_string(reason.max_health));
  if (reason.confidence > 0)
    page.add("Confidence", percent(reason.confidence) + " that the named subject is at fault");
  page.add("Do now", reason.cure);
  if (reason.action != Action::none) page.add("Action", catalog::action_text(reason.action));
  page.add("Raised", "after " + runs(reason.raise_rounds) + (reason.asks_again ? ", the second at once" : ""))
      .add("Clears", catalog::how_it_clears(reason));
  page.add("May be wrong if", reason.disproof)
      .add("Reported by", joined(reason.checks))
      .add(reason.provenance);
  return page.text();
}

std::string explain(Action action, const catalog::Catalog& facts) {
  Page page("Action " + std::string(to_string(action)));
  page.add("Do now", action_of(action));
  if (takes_device_out_of_service(action)) page.add("Until then", "run no job on the device");
  std::vector<std::string> reasons;
  for (const auto& reason : facts.reasons())
    if (reason.action == action) reasons.push_back(reason.id);
  page.add("Reasons", joined(reasons));
  return page.text();
}

std::string explain(const catalog::Threshold& threshold) {
  Page page(threshold.id + " = " + to_string(Value{threshold.value}) + " " + threshold.unit);
  page.add("What", threshold.meaning)
      .add("At worst", to_string(threshold.max_health))
      .add(threshold.provenance);
  return page.text();
}

std::string explain(const catalog::Xid& xid, const catalog::Catalog& facts) {
  Page page("Xid " + std::to_string(xid.code) + ": " + xid.name);
  const std::string fault_class = xid.classes.empty() ? "unknown" : xid.classes.front();
  add_driver_error(page, xid, percent(xid.confidence) + " that the GPU in the line is at fault",
                   facts.reason(checks::reason_of_xid(xid.code, fault_class)));
  return page.text();
}

std::string explain(const catalog::Sxid& sxid, const catalog::Catalog& facts) {
  const std::string codes =
      std::to_string(sxid.code) + (sxid.is_unit() ? " to " + std::to_string(sxid.last) : std::string());
  Page page("SXid " + codes + ": " + sxid.name);
  add_driver_error(page, sxid,
                   percent(sxid.confidence) + " that the switch or the endpoint of its link is at fault",
                   facts.reason(checks::kReasonOfSxids));
  return page.text();
}

std::string explain(const catalog::CheckPage& check, const catalog::Catalog& facts) {
  Page page(check.id + ": " + check.title);
  page.add("What", check.summary)
      .add("Data sources", joined(check.witnesses))
      .add("Permissions", joined(check.rights));
  page.add("Known limits", check.how_wrong).add("False alarm", check.false_positive);
  for (const auto& threshold : facts.thresholds())
    if (is_about(threshold, check.id))
      page.add("Threshold", threshold.id.substr(check.id.size() + 1) + " = " +
                                to_string(Value{threshold.value}) + " " + threshold.unit + ": " +
                                threshold.meaning);
  for (const auto& reason : facts.reasons())
    if (std::find(reason.checks.begin(), reason.checks.end(), check.id) != reason.checks.end())
      page.add("Reasons", reason.id + ": " + reason.title);
  return page.text();
}

std::string explain(const checks::DecodedRecord& record, const checks::LineVerdict& verdict,
                    const catalog::Catalog& facts) {
  Page page("A kernel log record of kind " + record.kind + " (rule " + record.rule + ")");
  // A line on the command line has no number.
  for (const auto& [name, value] : checks::to_attributes(record))
    if (name != "line") page.add(name, to_string(value));
  page.add("check", verdict_text(record, verdict));
  if (const std::string known = explain_kind(record, verdict, facts); !known.empty())
    page.more("Catalog entry of this kind; details of the line take precedence:\n\n" + known);
  return page.text();
}

}  // namespace autopilot::cli
