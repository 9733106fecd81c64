// SPDX-License-Identifier: Apache-2.0
#include "catalog/log_pattern.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <re2/re2.h>
#include <re2/set.h>

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

// Nothing where they need too much. A set that compiles may still have no room left to match in: one text
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

// One that is known to compile, made when it is first asked: most rules never match on a node, and each takes
// some 8 KiB. Thread-safe.
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
  // The set says in one pass over the text which rules match; most records match none.
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
  // No room to match them together: one after the other needs little, and nothing is overlooked.
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

}  // namespace autopilot::catalog
