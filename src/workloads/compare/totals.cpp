// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/parse.hpp"
#include "workloads/compare/readers.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr std::size_t kMaxTotals = 10'000;
constexpr std::size_t kLongestSubject = 120;

std::string_view after_text(std::string_view line, std::string_view part) {
  const auto found = line.find(part);
  return found == std::string_view::npos ? std::string_view() : trim(line.substr(found + part.size()));
}

// The number at the front: "460.0 GB/s)" gives 460.
std::optional<double> leading_number(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789.");
  return parse_decimal(text.substr(0, end));
}

// "Measured Avg NCCL allreduce bus BW 477.873 GB/s (expected >=460.0 GB/s)"
std::optional<Measure> measured_line(std::string_view line, const std::string& file, int number) {
  const std::string_view text = after_text(line, "Measured ");
  const auto limit_at = text.find("(expected >=");
  if (text.empty() || limit_at == std::string_view::npos) return std::nullopt;
  const auto words = split_words(text.substr(0, limit_at));
  if (words.size() < 3) return std::nullopt;
  const auto value = parse_decimal(words[words.size() - 2]);
  const auto limit = leading_number(after_text(text, "(expected >="));
  if (!value || !limit) return std::nullopt;
  std::string subject;
  for (std::size_t i = 0; i + 2 < words.size(); ++i)
    subject += (i > 0 ? " " : "") + std::string(words[i]);
  return Measure{"nhc.measured",
                 to_printable(subject, kLongestSubject),
                 to_printable(words.back(), 16),
                 *value,
                 *limit,
                 {file, number, number, 0, {}},
                 false};
}

struct SysbenchLine {
  std::string_view begin;
  std::string_view metric;
  std::string_view unit;
};

constexpr std::array<SysbenchLine, 3> kSysbench{{
    {"events per second:", "sysbench.events", "1/s"},
    {"total time:", "sysbench.time", "s"},
    {"total number of events:", "sysbench.total_events", ""},
}};

}  // namespace

Result<Readings> parse_node_health_check(std::string_view text, const std::string& file) {
  Readings found;
  TextLines lines(text);
  for (std::string_view line; lines.next(line) && found.measures.size() < kMaxTotals;) {
    if (auto measure = measured_line(line, file, lines.number()))
      found.measures.push_back(std::move(*measure));
    if (line.starts_with("ERROR:  nhc:") && found.notes.size() < kMaxColumns)
      found.notes.push_back(file + ":" + std::to_string(lines.number()) + ": a node health check failed: " +
                            to_printable(after_text(line, "Health check failed:"), kLongestSubject));
  }
  if (found.measures.empty() && found.notes.empty())
    return fail(Errc::malformed, file + ": no measured value of a node health check; run nhc with -v");
  return found;
}

Result<Readings> parse_sysbench(std::string_view text, const std::string& file) {
  Readings found;
  TextLines lines(text);
  for (std::string_view line; lines.next(line) && found.measures.size() < kMaxTotals;)
    for (const SysbenchLine& known : kSysbench)
      if (const auto value = leading_number(after_text(line, known.begin)))
        found.measures.push_back({std::string(known.metric),
                                  {},
                                  std::string(known.unit),
                                  *value,
                                  std::nullopt,
                                  {file, lines.number(), lines.number(), 0, std::string(known.begin)},
                                  false});
  if (found.measures.empty())
    return fail(Errc::malformed, file + ": no totals of sysbench; its run did not end");
  return found;
}

}  // namespace autopilot::workloads::compare
