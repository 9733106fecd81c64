// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/line_verdict.hpp"
#include "cli/cli.hpp"
#include "cli/output/explanation.hpp"
#include "cli/output/terminal.hpp"
#include "cli/verbs.hpp"
#include "core/nearest.hpp"
#include "core/parse.hpp"
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
  if (const auto* threshold = facts.threshold(id)) return explain(*threshold);
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
      tell(text.error().what);
      exit_code = kExitUsage;
      return;
    }
    std::cout << *text;
    exit_code = kExitHealthy;
  });
}

}  // namespace autopilot::cli
