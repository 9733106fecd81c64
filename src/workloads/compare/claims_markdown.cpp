// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>

#include "core/parse.hpp"
#include "workloads/compare/claims.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr std::size_t kLongestSentence = 300;
constexpr std::array<std::string_view, 8> kUnits{"%", "kB", "MB", "GB", "TB", "MiB", "GiB", "TiB"};

struct FoundNumber {
  double low = 0;
  double high = 0;
  std::string unit;
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_number_sign(char c) {
  return (c >= '0' && c <= '9') || c == '.';
}

bool is_word_sign(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/';
}

std::optional<double> take_number(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_number_sign(text[at]))
    ++at;
  return parse_number<double>(text.substr(begin, at - begin));
}

std::string unit_at(std::string_view text, std::size_t& at) {
  std::size_t begin = at;
  while (begin < text.size() && text[begin] == ' ')
    ++begin;
  for (const std::string_view unit : kUnits) {
    if (!text.substr(begin).starts_with(unit)) continue;
    const std::size_t end = begin + unit.size();
    if (unit != "%" && end < text.size() && is_word_sign(text[end])) continue;  // "GB/s", "GBs"
    at = end;
    return std::string(unit);
  }
  return {};
}

// "15%", "8.3 %", "84 GB", "5-10%"
std::vector<FoundNumber> numbers_in(std::string_view text) {
  std::vector<FoundNumber> found;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = std::isdigit(static_cast<unsigned char>(text[at])) != 0 &&
                        (at == 0 || (!is_word_sign(text[at - 1]) && text[at - 1] != '.'));
    if (!begins) {
      ++at;
      continue;
    }
    FoundNumber number;
    number.begin = at;
    auto low = take_number(text, at);
    auto high = low;
    if (at + 1 < text.size() && text[at] == '-' &&
        std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0) {
      ++at;
      high = take_number(text, at);
    }
    number.unit = unit_at(text, at);
    number.end = at;
    if (low && high && *low <= *high && !number.unit.empty()) {
      number.low = *low;
      number.high = *high;
      found.push_back(std::move(number));
    }
  }
  return found;
}

bool mentions(const std::string& lower, std::string_view word) {
  return lower.find(word) != std::string::npos;
}

std::string metric_of(const std::string& lower) {
  const bool has_memory = mentions(lower, "memory") || mentions(lower, " ram");
  if (mentions(lower, "gpu")) return has_memory ? "gpu.memory_busy" : "gpu.util";
  if (mentions(lower, "cpu")) return "cpu.user";
  return has_memory ? "mem" : "";
}

// Memory of a machine has several metrics: percent, used, and all of it ("95 GB used of 1145 GB").
std::string metric_of_memory(const FoundNumber& number, std::string_view sentence) {
  if (number.unit == "%") return "mem.used_percent";
  const std::string before = to_lower(sentence.substr(0, number.begin));
  const std::string after = to_lower(sentence.substr(number.end, 16));
  if (before.ends_with("of ") || mentions(after, "available") || mentions(after, "total")) return "mem.total";
  return mentions(after, "free") ? "mem.free" : "mem.used";
}

std::vector<std::string> names_of_side(const Side& side) {
  std::vector<std::string> names = side.facts.aliases;
  names.push_back(side.name);
  for (std::string& name : names)
    name = to_lower(name);
  std::erase_if(names, [](const std::string& name) { return name.size() < 2; });
  return names;
}

class MarkdownClaims {
 public:
  MarkdownClaims(const std::string& file, const Side& a, const Side& b)
      : file_(file), a_(names_of_side(a)), b_(names_of_side(b)) {}

  void read(std::string_view text) {
    TextLines lines(text);
    for (std::string_view line; lines.next(line);)
      read_line(trim(line), lines.number());
  }

  std::vector<Claim> take() { return std::move(claims_); }

 private:
  void read_line(std::string_view line, int number) {
    if (line.starts_with("```")) is_code_ = !is_code_;
    if (is_in_comment(line) || is_code_ || line.starts_with("```") || line.starts_with('|') ||
        line.starts_with("!["))
      return;
    if (line.starts_with('#')) {
      const std::string lower = to_lower(line);
      if (const std::string side = side_of(lower); !side.empty()) side_of_heading_ = side;
      metric_of_heading_ = metric_of(lower);
      return;
    }
    while (!line.empty()) {
      const auto end = line.find(". ");
      read_sentence(trim(line.substr(0, end)), number);
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 2);
    }
  }

  bool is_in_comment(std::string_view line) {
    const bool was = is_comment_;
    if (line.find("<!--") != std::string_view::npos) is_comment_ = true;
    const bool now = was || is_comment_;
    if (line.find("-->") != std::string_view::npos) is_comment_ = false;
    return now;
  }

  // The only side that the text names.
  [[nodiscard]] std::string side_of(const std::string& lower) const {
    const auto names = [&lower](const std::vector<std::string>& all) {
      return std::any_of(all.begin(), all.end(),
                         [&lower](const std::string& name) { return mentions(lower, name); });
    };
    const bool of_a = names(a_);
    const bool of_b = names(b_);
    return of_a == of_b ? "" : of_a ? "A" : "B";
  }

  void read_sentence(std::string_view sentence, int number) {
    const std::string lower = to_lower(sentence);
    std::string side = side_of(lower);
    if (side.empty()) side = side_of_heading_;
    std::string metric = metric_of(lower);
    if (metric.empty() || (metric == "mem" && metric_of_heading_ == "gpu.memory_busy"))
      metric = metric_of_heading_;
    for (const FoundNumber& found : numbers_in(sentence)) {
      if (claims_.size() >= kMaxClaims) return;
      Claim claim;
      claim.text = to_printable(sentence, kLongestSentence);
      claim.source = {file_, number, number, 0, {}};
      claim.side = side;
      claim.metric = metric == "mem" ? metric_of_memory(found, sentence) : metric;
      claim.low = found.low;
      claim.high = found.high;
      claim.unit = found.unit;
      claims_.push_back(std::move(claim));
    }
  }

  std::string file_;
  std::vector<std::string> a_, b_;
  std::string side_of_heading_, metric_of_heading_;
  bool is_code_ = false;
  bool is_comment_ = false;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> claims_in_markdown(std::string_view text, const std::string& file, const Side& a,
                                      const Side& b) {
  MarkdownClaims reader(file, a, b);
  reader.read(text);
  return reader.take();
}

}  // namespace autopilot::workloads::compare
