// SPDX-License-Identifier: Apache-2.0
#include "catalog/log_rules.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <re2/re2.h>
#include <re2/set.h>
#include <set>
#include <utility>

#include "catalog/entry.hpp"
#include "core/yaml.hpp"

namespace autopilot::catalog {

namespace {

RE2::Options options(std::size_t memory) {
  RE2::Options made;
  made.set_encoding(RE2::Options::EncodingLatin1);
  made.set_log_errors(false);
  made.set_dot_nl(true);
  made.set_max_mem(static_cast<std::int64_t>(memory));
  return made;
}

// nullptr if they need too much memory. A set that compiles may still lack the memory to match; one text
// shows it.
std::unique_ptr<const RE2::Set> make_set(const std::vector<LogRule>& rules, std::size_t count) {
  auto set = std::make_unique<RE2::Set>(options(kMaxPatternsMemory), RE2::UNANCHORED);
  for (std::size_t i = 0; i < count; ++i)
    if (set->Add(rules[i].pattern, nullptr) < 0) return nullptr;
  if (!set->Compile()) return nullptr;
  std::vector<int> matches;
  RE2::Set::ErrorInfo error{RE2::Set::kNoError};
  set->Match("a text", &matches, &error);
  if (error.kind != RE2::Set::kNoError) return nullptr;
  return set;
}

}  // namespace

struct LogPattern::Compiled {
  explicit Compiled(const std::string& pattern) : expression(pattern, options(kMaxPatternMemory)) {}
  RE2 expression;
};

Result<LogPattern> LogPattern::compile(const std::string& pattern) {
  auto compiled = std::make_shared<const Compiled>(pattern);
  const RE2& expression = compiled->expression;
  if (expression.error_code() == RE2::ErrorPatternTooLarge) return fail(Errc::exhausted, expression.error());
  if (!expression.ok()) return fail(Errc::malformed, expression.error());
  return LogPattern(std::move(compiled));
}

bool LogPattern::has_group(const std::string& name) const {
  return compiled_->expression.NamedCapturingGroups().contains(name);
}

std::optional<LogPattern::Groups> LogPattern::match(std::string_view text) const {
  const RE2& expression = compiled_->expression;
  std::vector<re2::StringPiece> pieces(static_cast<std::size_t>(expression.NumberOfCapturingGroups()) + 1);
  if (!expression.Match(text, 0, text.size(), RE2::UNANCHORED, pieces.data(),
                        static_cast<int>(pieces.size())))
    return std::nullopt;
  Groups groups;
  for (const auto& [index, name] : expression.CapturingGroupNames()) {
    const auto& piece = pieces[static_cast<std::size_t>(index)];
    if (piece.data() != nullptr) groups.emplace_back(name, std::string_view(piece.data(), piece.size()));
  }
  return groups;
}

namespace {

// A pattern that is known to compile. It is compiled at the first match: most rules never match on a node,
// and each needs some 8 KiB. Thread-safe.
class LatePattern {
 public:
  explicit LatePattern(std::string pattern) : text_(std::move(pattern)) {}

  [[nodiscard]] std::optional<LogPattern::Groups> match(std::string_view text) const {
    std::call_once(
        made_, [this] { pattern_ = std::make_unique<const LogPattern>(LogPattern::compile(text_).value()); });
    return pattern_->match(text);
  }

 private:
  std::string text_;
  mutable std::once_flag made_;
  mutable std::unique_ptr<const LogPattern> pattern_;
};

}  // namespace

struct LogPatterns::Compiled {
  // The set finds the matching rules in one pass over the text; most records match none.
  std::unique_ptr<const RE2::Set> set;
  std::deque<LatePattern> patterns;
};

Result<LogPatterns> LogPatterns::compile(const std::vector<LogRule>& rules) {
  const auto compiled = std::make_shared<Compiled>();
  for (const LogRule& rule : rules) {
    (void)TRY(LogPattern::compile(rule.pattern));
    compiled->patterns.emplace_back(rule.pattern);
  }
  if (!rules.empty()) {
    compiled->set = make_set(rules, rules.size());
    if (compiled->set == nullptr)
      return fail(Errc::exhausted, "the patterns of all log rules together need too much memory");
  }
  return LogPatterns(compiled);
}

std::optional<LogPatterns::Match> LogPatterns::first_match(std::string_view text) const {
  if (compiled_->set == nullptr) return std::nullopt;
  std::vector<int> matches;
  RE2::Set::ErrorInfo error{RE2::Set::kNoError};
  if (compiled_->set->Match(text, &matches, &error)) {
    const auto rule = static_cast<std::size_t>(*std::ranges::min_element(matches));
    if (auto groups = compiled_->patterns[rule].match(text)) return Match{rule, *std::move(groups)};
    return std::nullopt;
  }
  if (error.kind == RE2::Set::kNoError) return std::nullopt;
  // Too little memory to match them together: match one after the other.
  for (std::size_t rule = 0; rule < compiled_->patterns.size(); ++rule)
    if (auto groups = compiled_->patterns[rule].match(text)) return Match{rule, *std::move(groups)};
  return std::nullopt;
}

std::size_t how_many_fit(const std::vector<LogRule>& rules) {
  std::size_t fits = 0;
  std::size_t too_many = rules.size() + 1;
  for (std::size_t count = rules.size(); fits + 1 < too_many; count = fits + (too_many - fits) / 2) {
    if (count == 0 || make_set(rules, count) != nullptr)
      fits = count;
    else
      too_many = count;
  }
  return fits;
}

namespace {

const std::vector<std::string> kFaultWords{"degraded", "failed"};
const std::vector<std::string> kSubjectWords{"host", "gpu", "link", "nic_port", "disk", "mount"};

std::optional<Health> parse_fault(std::string_view word) {
  return std::ranges::find(kFaultWords, word) == kFaultWords.end() ? std::nullopt : parse_health(word);
}

std::optional<SubjectKind> parse_log_subject(std::string_view word) {
  return std::ranges::find(kSubjectWords, word) == kSubjectWords.end() ? std::nullopt
                                                                       : parse_subject_kind(word);
}

}  // namespace

LogRule read_log_rule_core(Entry& entry, std::vector<std::string> examples) {
  LogRule rule;
  rule.id = entry.id("[a-z][a-z0-9_]*\\.[a-z][a-z0-9_]*");
  rule.pattern = entry.required_word("pattern");
  rule.examples = std::move(examples);
  const auto compiled = LogPattern::compile(rule.pattern);
  if (!compiled) entry.problem(entry.line_of("pattern"), "`pattern`: " + compiled.error().what);
  for (const std::string& example : rule.examples)
    if (compiled && !compiled->match(example))
      entry.problem(entry.line_of("examples"), "`examples`: the pattern does not match: " + example);
  rule.title = entry.required_word("title");
  rule.fault_class = entry.word("class").value_or("");
  entry.known_word("class", rule.fault_class, xid_classes());
  rule.action = entry.choice<Action>("action", &parse_action, action_words());
  rule.health = entry.choice<Health>("health", &parse_fault, kFaultWords).value_or(Health::degraded);
  rule.subject =
      entry.choice<SubjectKind>("subject", &parse_log_subject, kSubjectWords).value_or(SubjectKind::host);
  if (rule.subject != SubjectKind::host && compiled && !compiled->has_group("device"))
    entry.problem(entry.line_of("subject"), "`subject`: the pattern has no group `device` that names it");
  rule.takes_back = entry.words("takes_back").value_or(std::vector<std::string>{});
  return rule;
}

namespace {

// The reasons of findings from such a line.
constexpr std::string_view kDegraded = "log_rule_degraded";
constexpr std::string_view kFailed = "log_rule_failed";

LogRule read_rule(Entry& entry, const std::string& file) {
  const bool is_judged = entry.has("health");
  LogRule rule = read_log_rule_core(entry, entry.words("examples").value_or(std::vector<std::string>{}));
  rule.kind = "other";
  if (is_judged) rule.reason = rule.health == Health::failed ? kFailed : kDegraded;
  rule.provenance.source = file;
  return rule;
}

class RuleReader {
 public:
  explicit RuleReader(const Catalog& base) : base_(base) {}

  void read(const std::string& name, const std::string& text, YamlProblems& problems) {
    const YamlNode root = parse_yaml(text, problems);
    if (!problems.empty()) return;
    YamlMap file(root, "file", problems);
    const YamlNode* list = file.list("log_rules");
    if (list == nullptr) {
      if (problems.empty()) problems.add(root.line, "`log_rules` is missing: a list of rules");
      return;
    }
    for (const YamlNode& item : list->items) {
      Entry entry(item, "log rule", problems);
      LogRule rule = read_rule(entry, name);
      if (base_.log_rule(rule.id) != nullptr)
        problems.add(item.line, "`id`: `" + rule.id + "` belongs to a rule of Autopilot; choose another");
      if (!ids_.insert(rule.id).second) problems.add(item.line, "`id`: `" + rule.id + "` is defined twice");
      places_.push_back({name, entry.line_of("pattern"), entry.line_of("takes_back")});
      rules.push_back(std::move(rule));
    }
    if (rules.size() > kMaxOperatorRules)
      problems.add(root.line, "`log_rules`: at most " + std::to_string(kMaxOperatorRules) + " in all files");
  }

  // A rule may retract a rule of another file.
  [[nodiscard]] std::string reference_problems() const {
    std::string text;
    for (std::size_t i = 0; i < rules.size(); ++i)
      for (const std::string& other : rules[i].takes_back)
        if (!ids_.contains(other))
          text += place(i, places_[i].takes_back) + "`" + rules[i].id + "` takes back `" + other +
                  "`, which is not one of these rules\n";
    return text;
  }

  // The decoder matches them together with the rules of the catalog.
  [[nodiscard]] std::string memory_problem() const {
    std::vector<LogRule> all = base_.log_rules();
    all.insert(all.end(), rules.begin(), rules.end());
    const std::size_t fitting = how_many_fit(all);
    if (fitting == all.size()) return {};
    const std::size_t first = fitting < base_.log_rules().size() ? 0 : fitting - base_.log_rules().size();
    return place(first, places_[first].pattern) + "`pattern`: with `" + rules[first].id +
           "` all rules together need more memory than allowed; shorten it, especially its repetitions\n";
  }

  std::vector<LogRule> rules;

 private:
  struct Place {
    std::string file;
    int pattern = 0;  // lines
    int takes_back = 0;
  };
  [[nodiscard]] std::string place(std::size_t rule, int line) const {
    return places_[rule].file + ":" + std::to_string(line) + ": ";
  }

  const Catalog& base_;
  std::set<std::string> ids_;
  std::vector<Place> places_;  // of each rule
};

}  // namespace

Result<std::vector<LogRule>> parse_operator_rules(const std::map<std::string, std::string>& files,
                                                  const Catalog& base) {
  RuleReader reader(base);
  std::string refusal;
  for (const auto& [name, text] : files) {
    YamlProblems problems(name);
    reader.read(name, text, problems);
    if (!problems.empty()) refusal += problems.to_string() + "\n";
  }
  if (refusal.empty()) refusal = reader.reference_problems();
  if (refusal.empty() && !reader.rules.empty()) refusal = reader.memory_problem();
  if (!refusal.empty()) return fail(Errc::malformed, refusal.substr(0, refusal.size() - 1));
  return std::move(reader.rules);
}

Catalog with_log_rules(const Catalog& base, const std::vector<LogRule>& rules) {
  Facts facts = base.facts();
  facts.log_rules.insert(facts.log_rules.begin(), rules.begin(), rules.end());
  return Catalog(std::move(facts));
}

}  // namespace autopilot::catalog
