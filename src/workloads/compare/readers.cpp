// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/readers.hpp"

#include "core/parse.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr std::size_t kHeadBytes = 65'536;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_sar_header(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() < 3 || words[0].find(':') == std::string_view::npos) return false;
  for (const std::string_view word : words)
    if (sar_column(word)) return true;
  return false;
}

}  // namespace

bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

std::optional<TextFormat> format_of(std::string_view text) {
  TextLines lines(text.substr(0, kHeadBytes));
  for (std::string_view line; lines.next(line);) {
    if (has(line, "utilization.gpu") && has(line, ",")) return TextFormat::smi_csv;
    if (has(line, "nThread") || has(line, "busbw") || has(line, "Avg bus bandwidth"))
      return TextFormat::nccl_tests;
    if (has(line, ":  nhc:  ")) return TextFormat::node_health_check;
    if (line.starts_with("sysbench ") || has(line, "events per second:") ||
        has(line, "total number of events:"))
      return TextFormat::sysbench;
    if (is_sar_header(line)) return TextFormat::sar;
  }
  TextLines again(text.substr(0, kHeadBytes));
  std::string_view header;
  std::string_view row;
  if (!again.next(header) || !again.next(row)) return std::nullopt;
  for (const std::string_view separator : {",", ";"})
    if (has(header, separator) && has(row, separator)) return TextFormat::csv;
  return std::nullopt;
}

Result<Readings> parse_readings(TextFormat format, std::string_view text, const std::string& file,
                                const SmiLayout& layout) {
  switch (format) {
    case TextFormat::sar:
      return parse_sar(text, file);
    case TextFormat::smi_csv:
      return parse_smi_csv(text, file, layout);
    case TextFormat::csv:
      return parse_csv_sheet(text, file);
    case TextFormat::nccl_tests:
      return parse_nccl_tests(text, file);
    case TextFormat::node_health_check:
      return parse_node_health_check(text, file);
    case TextFormat::sysbench:
      return parse_sysbench(text, file);
  }
  return fail(Errc::internal, file + ": format without a reader");
}

}  // namespace autopilot::workloads::compare
