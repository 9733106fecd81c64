// SPDX-License-Identifier: Apache-2.0
#include "cli/output/history_tables.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "api/history_records.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/table.hpp"
#include "core/action.hpp"
#include "core/database_place.hpp"
#include "learning/record_check.hpp"
#include "learning/record_words.hpp"

namespace autopilot::cli {
namespace {

namespace words = learning::words;

// "2026-11-21 03:04" in UTC.
std::string minute_of(WallTime time) {
  std::string text = format_time(time).substr(0, 16);
  text[10] = ' ';
  return text;
}

std::string whole_seconds(Duration duration) {
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

std::string lasted(WallTime begin, std::optional<WallTime> end) {
  return end ? "lasted " + whole_seconds(*end - begin) : "not over";
}

// The parts that are not empty, separated by "; ".
std::string parts(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts)
    if (!text.empty()) joined += (joined.empty() ? "" : "; ") + text;
  return joined;
}

std::string with_name(std::string_view name, const std::string& text) {
  return text.empty() ? "" : std::string(name) + " " + text;
}

struct Summary {
  std::string operator()(const learning::NodeJob& job) const {
    return parts({job.job, std::string(job.end ? word_of(words::kOutcomes, job.outcome) : "runs"),
                  job.failure, job.end ? lasted(job.start, job.end) : "",
                  job.gpus.empty() ? "" : std::to_string(job.gpus.size()) + " GPUs"});
  }
  std::string operator()(const learning::Validation& validation) const {
    std::string failed;
    for (const learning::CheckOutcome& check : validation.checks)
      if (check.health == Health::failed || check.health == Health::degraded)
        failed += (failed.empty() ? "" : ", ") + check.check;
    return parts({std::string(word_of(words::kDepths, validation.depth)) + " validation " +
                      std::string(word_of(words::kVerdicts, validation.verdict)),
                  failed, with_name("job", validation.job), validation.cause});
  }
  std::string operator()(const learning::Measurement& measurement) const {
    const auto [low, high] = std::ranges::minmax(measurement.values);
    std::array<char, 64> range{};
    std::snprintf(range.data(), range.size(), "%.4g to %.4g", low, high);
    return parts({measurement.check + " " + measurement.metric + ": " + range.data(),
                  std::to_string(measurement.values.size()) + " values"});
  }
  std::string operator()(const learning::Fault& fault) const {
    const std::string action = fault.action ? "suggested: " + std::string(to_string(*fault.action)) : "";
    return parts({fault.text.empty() ? fault.cause : fault.text,
                  std::string(word_of(words::kFaultClasses, fault.kind)) + " fault, " +
                      std::string(word_of(words::kHealths, fault.health)),
                  lasted(fault.begin, fault.end), with_name("job", fault.job), action});
  }
  std::string operator()(const learning::Label& label) const {
    return parts({std::string(word_of(words::kLabelAnswers, label.answer)) + ", by " +
                      std::string(word_of(words::kLabelSources, label.source)),
                  label.cause, label.author, label.note, with_name("fault", label.fault)});
  }
  std::string operator()(const learning::Repair& repair) const {
    return parts({repair.action, with_name("part", repair.part), with_name("ticket", repair.ticket),
                  repair.note, lasted(repair.begin, repair.end)});
  }
  std::string operator()(const learning::Versions& versions) const {
    return parts({with_name("driver", versions.driver), with_name("firmware", versions.firmware),
                  with_name("kernel", versions.kernel), with_name("image", versions.image),
                  with_name("autopilot", versions.agent)});
  }
};

std::string csv_cell(std::string_view text) {
  // A terminal may show it: no escape sequences.
  std::string cell = printable(text);
  if (!cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != std::string_view::npos)
    cell.insert(0, 1, '\'');
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  return line + "\r\n";
}

}  // namespace

std::string summary_of(const learning::HistoryRecord& record) {
  return std::visit(Summary{}, record);
}

std::string render_history(std::span<const learning::HistoryRecord> records, const TableStyle& style) {
  std::vector<Row> rows;
  for (const learning::HistoryRecord& record : records) {
    Row& row = rows.emplace_back();
    row.push_back({minute_of(learning::begin_of(record))});
    row.push_back({std::string(learning::type_of(record))});
    row.push_back({learning::place_of(record).gpu});
    row.push_back({summary_of(record)});
    if (const auto* fault = std::get_if<learning::Fault>(&record)) row[1].color = color_of(fault->health);
  }
  return render_columns({"BEGIN (UTC)", "TYPE", "GPU", "SUMMARY"}, std::move(rows), style);
}

std::string render_history_status(const std::string& place, const store::HistoryStatus& status,
                                  const TableStyle& style) {
  std::vector<Row> rows;
  rows.push_back({{is_postgres(place) ? "database" : "file"}, {place}});
  rows.push_back({{"bytes"}, {std::to_string(status.bytes)}});
  if (status.oldest) rows.push_back({{"oldest"}, {format_time(*status.oldest)}});
  if (status.newest) rows.push_back({{"newest"}, {format_time(*status.newest)}});
  for (const store::HistoryCount& count : status.records)
    rows.push_back(
        {{count.key}, {std::to_string(count.count) + (count.count == 1 ? " record" : " records")}});
  return render_columns({"HISTORY", ""}, std::move(rows), style);
}

std::string history_csv_titles() {
  return csv_line({"type", "id", "cluster", "node", "gpu", "job", "begin", "end", "outcome", "summary"});
}

std::string to_csv(const learning::HistoryRecord& record) {
  const learning::Place& place = learning::place_of(record);
  const auto end = learning::end_of(record);
  return csv_line({std::string(learning::type_of(record)), learning::id_of(record), place.cluster, place.node,
                   place.gpu, std::string(learning::job_of(record)),
                   api::format_exact_time(learning::begin_of(record)),
                   end ? api::format_exact_time(*end) : "", std::string(learning::outcome_of(record)),
                   summary_of(record)});
}

}  // namespace autopilot::cli
