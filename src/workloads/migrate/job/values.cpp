// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/job/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::workloads::migrate {
namespace {

constexpr std::int64_t kLongest = std::int64_t{100} * 365 * 86400;

std::optional<std::int64_t> count_of(std::string_view text) {
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < 0 || *number > kLongest) return std::nullopt;
  return number;
}

// nullopt: a part is not a number.
std::optional<std::vector<std::int64_t>> counts_of(std::string_view text) {
  std::vector<std::int64_t> counts;
  for (const std::string_view part : split(text, ':')) {
    const auto count = count_of(part);
    if (!count) return std::nullopt;
    counts.push_back(*count);
  }
  return counts;
}

std::optional<RunLimit> limit_of(std::int64_t seconds) {
  if (seconds > kLongest) return std::nullopt;
  if (seconds == 0) return RunLimit{};
  return RunLimit{std::chrono::seconds{seconds}};
}

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// "5", "1-65", "16-32:4"
bool add_indices(std::string_view text, std::vector<int>& indices) {
  const auto colon = text.find(':');
  const auto step =
      colon == std::string_view::npos ? std::optional(1) : parse_positive(text.substr(colon + 1));
  text = text.substr(0, colon);
  const auto dash = text.find('-');
  const auto first = parse_number<int>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number<int>(text.substr(dash + 1));
  if (!step || !first || !last || *first < 0 || *last < *first) return false;
  for (std::int64_t index = *first; index <= *last; index += *step) {
    if (indices.size() >= ArrayIndices::kMost) return false;
    indices.push_back(static_cast<int>(index));
  }
  return true;
}

}  // namespace

std::optional<RunLimit> parse_lsf_limit(std::string_view text) {
  const auto counts = counts_of(trim(text.substr(0, text.find('/'))));
  if (!counts || counts->size() > 2) return std::nullopt;
  const std::int64_t minutes = counts->size() == 2 ? (*counts)[0] * 60 + (*counts)[1] : (*counts)[0];
  return limit_of(minutes * 60);
}

std::optional<RunLimit> parse_slurm_limit(std::string_view text) {
  text = trim(text);
  const std::string lower = to_lower(text);
  if (lower == "unlimited" || lower == "infinite" || lower == "-1") return RunLimit{};
  const auto dash = text.find('-');
  const auto days =
      dash == std::string_view::npos ? std::optional<std::int64_t>(0) : count_of(text.substr(0, dash));
  const auto counts = counts_of(dash == std::string_view::npos ? text : text.substr(dash + 1));
  if (!days || !counts || counts->size() > 3) return std::nullopt;
  const auto at = [&counts](std::size_t index) { return index < counts->size() ? (*counts)[index] : 0; };
  if (dash != std::string_view::npos) return limit_of(*days * 86400 + at(0) * 3600 + at(1) * 60 + at(2));
  if (counts->size() == 1) return limit_of(at(0) * 60);
  if (counts->size() == 2) return limit_of(at(0) * 60 + at(1));
  return limit_of(at(0) * 3600 + at(1) * 60 + at(2));
}

std::optional<std::uint64_t> parse_unit(std::string_view text) {
  constexpr std::string_view letters = "kmgtp";
  std::string lower = to_lower(text);
  if (lower == "b") return 1;
  if (lower.size() > 1 && lower.ends_with('b')) lower.pop_back();
  if (lower.size() > 1 && lower.ends_with('i')) lower.pop_back();
  const auto at = lower.size() == 1 ? letters.find(lower.front()) : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  return std::uint64_t{1} << (10 * (at + 1));
}

std::optional<Size> parse_size(std::string_view text) {
  text = trim(text);
  const auto end = text.find_first_not_of("0123456789.");
  const auto number = parse_number<double>(text.substr(0, end));
  if (!number) return std::nullopt;
  if (end == std::string_view::npos) return Size{*number, 0};
  const auto unit = parse_unit(trim(text.substr(end)));
  if (!unit) return std::nullopt;
  return Size{*number, *unit};
}

std::optional<std::int64_t> bytes_of(const Size& size, std::uint64_t default_unit) {
  const double bytes = size.number * static_cast<double>(size.unit == 0 ? default_unit : size.unit);
  if (!(bytes >= 0) || bytes > 0x1p60) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(bytes));
}

std::optional<int> parse_positive(std::string_view text) {
  const auto number = parse_number<int>(trim(text));
  if (!number || *number < 1 || *number > 10'000'000) return std::nullopt;
  return number;
}

std::optional<Range> parse_range(std::string_view text, char separator) {
  const auto at = text.find(separator);
  const auto least = parse_positive(text.substr(0, at));
  if (!least) return std::nullopt;
  if (at == std::string_view::npos) return Range{*least, std::nullopt};
  const auto most = parse_positive(text.substr(at + 1));
  if (!most || *most < *least) return std::nullopt;
  return Range{*least, *most};
}

std::optional<ArrayIndices> parse_array(std::string_view text) {
  ArrayIndices array;
  const auto percent = text.find('%');
  if (percent != std::string_view::npos) {
    array.throttle = parse_positive(text.substr(percent + 1));
    if (!array.throttle) return std::nullopt;
  }
  for (const std::string_view part : split(text.substr(0, percent), ','))
    if (!add_indices(trim(part), array.indices)) return std::nullopt;
  std::sort(array.indices.begin(), array.indices.end());
  array.indices.erase(std::unique(array.indices.begin(), array.indices.end()), array.indices.end());
  return array;
}

std::string object_name(std::string_view text, std::size_t longest) {
  std::string name;
  for (const char c : to_lower(text)) {
    if (is_alphanumeric(c))
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  if (!name.empty() && name.front() >= '0' && name.front() <= '9') name.insert(0, "job-");
  name = name.substr(0, longest);
  while (name.ends_with('-'))
    name.pop_back();
  return name.empty() ? "job" : name;
}

std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text.substr(0, 63))
    value += is_alphanumeric(c) || c == '-' || c == '_' || c == '.' ? c : '_';
  const auto first = std::find_if(value.begin(), value.end(), is_alphanumeric);
  value.erase(value.begin(), first);
  while (!value.empty() && !is_alphanumeric(value.back()))
    value.pop_back();
  return value;
}

std::vector<std::string> list_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (separators.find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace autopilot::workloads::migrate
