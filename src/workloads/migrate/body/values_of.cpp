// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/body/values_of.hpp"

#include <algorithm>
#include <cstdint>

#include "core/parse.hpp"
#include "workloads/migrate/body/shell.hpp"

namespace autopilot::workloads::migrate {
namespace {

constexpr std::int64_t kLargest = 1'000'000'000;

// A sum of shell arithmetic with + - * / and brackets.
class Sum {
 public:
  Sum(std::string_view text, const KnownValues& values) : text_(text), values_(values) {}

  std::optional<std::int64_t> value() {
    const auto result = terms(0);
    skip();
    return result && at_ == text_.size() ? result : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
      ++at_;
  }
  bool take(char sign) {
    skip();
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  static std::optional<std::int64_t> within(std::int64_t number) {
    if (number > kLargest || number < -kLargest) return std::nullopt;
    return number;
  }

  std::optional<std::int64_t> terms(int depth) {
    auto left = factors(depth);
    while (left) {
      const bool adds = take('+');
      if (!adds && !take('-')) return left;
      const auto right = factors(depth);
      if (!right) return std::nullopt;
      left = within(adds ? *left + *right : *left - *right);
    }
    return left;
  }

  std::optional<std::int64_t> factors(int depth) {
    auto left = factor(depth);
    while (left) {
      const bool multiplies = take('*');
      if (!multiplies && !take('/')) return left;
      const auto right = factor(depth);
      if (!right || (!multiplies && *right == 0)) return std::nullopt;
      left = within(multiplies ? *left * *right : *left / *right);
    }
    return left;
  }

  std::optional<std::int64_t> factor(int depth) {
    if (depth > 20) return std::nullopt;
    if (take('(')) {
      const auto inner = terms(depth + 1);
      if (!inner || !take(')')) return std::nullopt;
      return inner;
    }
    skip();
    if (at_ < text_.size() && text_[at_] == '$') ++at_;
    const bool is_braced = take('{');
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view("+-*/() \t}").find(text_[at_]) == std::string_view::npos)
      ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (is_braced && !take('}')) return std::nullopt;
    if (const auto number = parse_number<std::int64_t>(word)) return within(*number);
    if (!is_shell_name(word)) return std::nullopt;
    const auto value = values_.expand("$" + word);
    const auto number = value ? parse_number<std::int64_t>(*value) : std::nullopt;
    return number ? within(*number) : std::nullopt;
  }

  std::string_view text_;
  const KnownValues& values_;
  std::size_t at_ = 0;
};

}  // namespace

void KnownValues::set(const std::string& name, std::string value) {
  if (value.size() <= kLongest)
    values_[name] = std::move(value);
  else
    values_.erase(name);
}

std::optional<std::string> KnownValues::expand(std::string_view text) const {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '`') return std::nullopt;
    if (text[at] != '$' || at + 1 >= text.size()) {
      result += text[at++];
      continue;
    }
    if (text.substr(at).starts_with("$((")) {
      const auto end = text.find("))", at);
      if (end == std::string_view::npos) return std::nullopt;
      const auto sum = Sum(text.substr(at + 3, end - at - 3), *this).value();
      if (!sum) return std::nullopt;
      result += std::to_string(*sum);
      at = end + 2;
      continue;
    }
    if (text[at + 1] == '(') return std::nullopt;
    const bool is_braced = text[at + 1] == '{';
    const std::size_t begin = at + (is_braced ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() && is_shell_name("_" + std::string(1, text[end])))
      ++end;
    const auto found = values_.find(text.substr(begin, end - begin));
    std::size_t after = end;
    std::optional<std::string> fallback;
    if (is_braced) {
      after = text.find('}', end);
      if (after == std::string_view::npos) return std::nullopt;
      const std::string_view form = text.substr(end, after - end);
      if (form.starts_with(":-") || form.starts_with(":="))
        fallback = std::string(form.substr(2));
      else if (!form.empty())
        return std::nullopt;
      ++after;
    }
    if (found != values_.end())
      result += found->second;
    else if (fallback && fallback->find('$') == std::string::npos)
      result += *fallback;
    else
      return std::nullopt;
    if (result.size() > kLongest) return std::nullopt;
    at = after;
  }
  return result;
}

std::optional<int> KnownValues::count(std::string_view text) const {
  const auto value = expand(text);
  if (!value) return std::nullopt;
  const auto number = parse_number<int>(trim(*value));
  if (!number || *number < 1 || *number > 10'000'000) return std::nullopt;
  return number;
}

}  // namespace autopilot::workloads::migrate
