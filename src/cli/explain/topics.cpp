// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/topics.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/line_verdict.hpp"
#include "cli/exit_codes.hpp"
#include "cli/explain/catalog_pages.hpp"
#include "cli/explain/vocabulary.hpp"
#include "core/parse.hpp"
#include "core/text.hpp"
#include "host/kernel_log/text_log.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kNearest = 3;

bool is_equal(std::string_view a, std::string_view b) {
  return to_lower(a) == to_lower(b);
}

// The words without their kind, if they begin with it: "failed" of "health failed".
std::string_view without_kind(std::string_view words, std::string_view kind) {
  if (words.size() <= kind.size() + 1 || words[kind.size()] != ' ' ||
      !is_equal(words.substr(0, kind.size()), kind))
    return words;
  return trim(words.substr(kind.size() + 1));
}

bool names(std::string_view words, std::string_view kind, std::string_view id) {
  return is_equal(words, id) || is_equal(without_kind(words, kind), id);
}

Explained page_of(const Word& word) {
  Explained page{.kind = std::string(word.kind),
                 .id = std::string(word.kind) + " " + std::string(word.id),
                 .title = std::string(word.id) + " (" + std::string(word.kind) + ")"};
  page.add("What", word.meaning).add("Do now", word.next);
  return page;
}

Explained not_in_catalog(const std::string& kind, std::uint32_t code, const std::string& more) {
  const std::string number = std::to_string(code);
  Explained page{.kind = kind,
                 .id = to_lower(kind) + " " + number,
                 .title = kind + " " + number + ": not in the catalog"};
  page.add("What", "Autopilot records it as an event of class unknown and takes no action." + more);
  return page;
}

Explained xid_page(std::uint32_t code, const catalog::Catalog& facts) {
  const auto* xid = facts.xid(code);
  return xid == nullptr ? not_in_catalog("Xid", code, "") : explain(*xid, facts);
}

Explained sxid_page(std::uint32_t code, const catalog::Catalog& facts) {
  const auto* sxid = facts.sxid(code);
  if (sxid != nullptr) return explain(*sxid, facts);
  return not_in_catalog("SXid", code, " If its line contains Fatal, the severity of the driver applies.");
}

// The number in "xid79", "XID-79", "xid: 79" and the like behind the prefix.
std::optional<std::uint32_t> number_behind(std::string_view words, std::string_view prefix) {
  if (!to_lower(words).starts_with(prefix)) return std::nullopt;
  words.remove_prefix(prefix.size());
  while (!words.empty() && std::string_view(" -_:#=").find(words.front()) != std::string_view::npos)
    words.remove_prefix(1);
  return parse_number<std::uint32_t>(words);
}

// "79" is an Xid unless only switches have that code.
void add_codes(std::vector<Explained>& found, std::string_view words, const catalog::Catalog& facts) {
  if (const auto code = number_behind(words, "xid")) found.push_back(xid_page(*code, facts));
  if (const auto code = number_behind(words, "sxid")) found.push_back(sxid_page(*code, facts));
  const auto code = parse_number<std::uint32_t>(words);
  if (!code) return;
  const bool has_sxid = facts.sxid(*code) != nullptr;
  if (facts.xid(*code) != nullptr || !has_sxid) found.push_back(xid_page(*code, facts));
  if (has_sxid) found.push_back(sxid_page(*code, facts));
}

void add_exit_code(std::vector<Explained>& found, std::string_view words) {
  for (const char* prefix : {"exit code", "exit status", "exit"}) {
    const auto code = number_behind(words, prefix);
    if (!code) continue;
    for (const ExitCode& one : exit_codes()) {
      if (one.code != static_cast<int>(*code)) continue;
      Explained page{.kind = "exit",
                     .id = "exit " + std::to_string(one.code),
                     .title = "Exit code " + std::to_string(one.code)};
      page.add("What", one.meaning).add("Do now", "--help of each verb lists its exit codes");
      found.push_back(std::move(page));
    }
    return;
  }
}

void add_facts(std::vector<Explained>& found, std::string_view words, const catalog::Catalog& facts) {
  for (const auto& check : facts.checks())
    if (names(words, "check", check.id)) found.push_back(explain(check, facts));
  for (const auto& reason : facts.reasons())
    if (names(words, "reason", reason.id)) found.push_back(explain(reason));
  for (const auto& threshold : facts.thresholds())
    if (names(words, "threshold", threshold.id)) found.push_back(explain(threshold));
  for (const auto& action : facts.facts().actions)
    if (names(words, "action", to_string(action.id))) found.push_back(explain(action.id, facts));
  for (const auto& rule : facts.log_rules())
    if (names(words, "log rule", rule.id) || names(words, "rule", rule.id))
      found.push_back(explain(rule, facts));
  for (const auto& cause : facts.causes())
    if (names(words, "cause rule", cause.id) || names(words, "rule", cause.id))
      found.push_back(explain(cause));
}

void add_words(std::vector<Explained>& found, std::string_view words) {
  for (const auto list : {machine_words(), job_words()})
    for (const Word& word : list)
      if (names(words, word.kind, word.id)) found.push_back(page_of(word));
}

std::optional<Explained> page_of_line(const std::string& line, const catalog::Catalog& facts) {
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

// Marks that a person copies together with a word: "(row_remap_failed)", "PASS,".
std::string_view without_marks(std::string_view words) {
  constexpr std::string_view kBefore = "([{'\"`";
  constexpr std::string_view kBehind = ")]}'\"`,;.:!";
  words = trim(words);
  while (!words.empty() && kBefore.find(words.front()) != std::string_view::npos)
    words.remove_prefix(1);
  while (!words.empty() && kBehind.find(words.back()) != std::string_view::npos)
    words.remove_suffix(1);
  return words;
}

}  // namespace

std::vector<Topic> all_topics(const catalog::Catalog& facts) {
  std::vector<Topic> topics;
  for (const auto& check : facts.checks())
    topics.push_back({"check", check.id, check.title});
  for (const auto& reason : facts.reasons())
    topics.push_back({"reason", reason.id, reason.title});
  for (const auto& action : facts.facts().actions)
    topics.push_back({"action", std::string(to_string(action.id)), action.sentence});
  for (const auto& threshold : facts.thresholds())
    topics.push_back({"threshold", threshold.id, threshold.meaning});
  for (const auto& rule : facts.log_rules())
    topics.push_back({"log rule", rule.id, rule.title});
  for (const auto& cause : facts.causes())
    topics.push_back({"cause rule", cause.id, cause.title});
  for (const auto& xid : facts.xids())
    topics.push_back({"Xid", "xid " + std::to_string(xid.code), xid.name});
  for (const auto& sxid : facts.sxids())
    topics.push_back({"SXid", "sxid " + std::to_string(sxid.code), sxid.name});
  for (const auto list : {machine_words(), job_words()})
    for (const Word& word : list)
      topics.push_back({std::string(word.kind), std::string(word.id), std::string(word.meaning)});
  return topics;
}

std::vector<Explained> find_topics(const std::string& words, const catalog::Catalog& facts) {
  std::vector<Explained> found;
  for (const std::string_view text : {trim(words), without_marks(words)}) {
    if (text.empty()) continue;
    add_codes(found, text, facts);
    add_exit_code(found, text);
    add_facts(found, text, facts);
    add_words(found, text);
    if (!found.empty()) return found;
  }
  if (auto page = page_of_line(words, facts)) found.push_back(*std::move(page));
  return found;
}

std::vector<std::string> nearest_topics(const std::string& words, const catalog::Catalog& facts) {
  std::vector<std::string> known;
  std::map<std::string, std::string, std::less<>> spelling;  // EVICT of "evict"
  for (Topic& topic : all_topics(facts)) {
    const std::string lower = to_lower(topic.id);
    if (spelling.emplace(lower, std::move(topic.id)).second) known.push_back(lower);
  }
  const std::string word(without_marks(to_lower(words)));
  std::vector<std::string> nearest;
  while (nearest.size() < kNearest) {
    const auto next = nearest_word(word, known);
    if (!next) break;
    std::erase(known, *next);
    nearest.push_back(spelling.find(*next)->second);
  }
  return nearest;
}

namespace {

// Letters only, of four at least: numbers and addresses differ from machine to machine.
std::set<std::string> words_in(std::string_view text) {
  constexpr std::size_t kShortest = 4;
  std::set<std::string> words;
  std::string word;
  for (const char c : to_lower(text) + " ") {
    if (c >= 'a' && c <= 'z') {
      word += c;
      continue;
    }
    if (word.size() >= kShortest) words.insert(word.ends_with('s') ? word.substr(0, word.size() - 1) : word);
    word.clear();
  }
  return words;
}

}  // namespace

const catalog::Reason* reason_like(std::string_view sentence, const catalog::Catalog& facts) {
  constexpr std::size_t kFewest = 3;
  const auto wanted = words_in(sentence);
  const catalog::Reason* best = nullptr;
  std::size_t most = std::max(kFewest, (wanted.size() + 1) / 2) * 2 - 1;  // words of the title count twice
  for (const catalog::Reason& reason : facts.reasons()) {
    const auto title = words_in(reason.title);
    const auto all = words_in(reason.id + " " + reason.title + " " + reason.meaning);
    std::size_t count = 0;
    std::size_t shared = 0;
    for (const std::string& word : wanted) {
      if (!all.contains(word)) continue;
      ++shared;
      count += title.contains(word) ? 3 : 2;
    }
    if (shared < kFewest || count <= most) continue;
    most = count;
    best = &reason;
  }
  return best;
}

bool is_incident_form(std::string_view text) {
  const auto parts = split(text, '-');
  return parts.size() == 2 && parts[0].size() == 8 && parse_number<std::uint32_t>(parts[0], 16).has_value() &&
         parse_number<std::uint32_t>(parts[1]).has_value();
}

}  // namespace autopilot::cli
