// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "core/clock.hpp"
#include "core/parse.hpp"
#include "workloads/compare/clock_times.hpp"
#include "workloads/compare/csv_cells.hpp"
#include "workloads/compare/readers.hpp"
#include "workloads/compare/refused_cells.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr std::size_t kLongestName = 64;

struct SheetColumn {
  std::size_t cell = 0;
  ColumnMeaning meaning;
  std::string subject;
  bool is_gpu_share = false;  // percent, or a fraction in the whole sheet
};

// "gpu12" with the prefix "gpu": 12.
std::optional<unsigned> index_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() > prefix.size() + 3) return std::nullopt;
  return parse_number<unsigned>(name.substr(prefix.size()));
}

SheetColumn column_of(std::size_t cell, const std::string& name) {
  const std::string lower = to_lower(name);
  if (const auto gpu = index_after(lower, "gpu"))
    return {cell, {"gpu.util", "%", 1}, "GPU " + std::to_string(*gpu), true};
  if (const auto gpu = index_after(lower, "mem"))
    return {cell, {"gpu.memory_busy", "%", 1}, "GPU " + std::to_string(*gpu), true};
  if (const auto known = sar_column(name)) return {cell, *known, {}, false};
  return {cell, {"csv." + to_printable(lower, kLongestName), "", 1}, {}, false};
}

bool is_time_name(const std::string& name) {
  const std::string lower = to_lower(name);
  return lower == "time" || lower == "timestamp";
}

bool is_id_name(const std::string& name) {
  const std::string lower = to_lower(name);
  return lower == "id" || lower == "index" || lower.empty();
}

struct SheetTime {
  double seconds = 0;
  bool is_of_day = false;
};

std::optional<SheetTime> time_of(std::string_view text) {
  if (const auto clock = parse_clock(text)) return SheetTime{*clock, true};
  if (const auto time = parse_time(text)) return SheetTime{to_seconds(time->time_since_epoch()), false};
  if (const auto number = parse_decimal(text)) return SheetTime{*number, false};
  return std::nullopt;
}

struct Sheet {
  std::vector<std::string> names;
  char separator = ',';
  std::optional<std::size_t> time_cell;
  std::vector<SheetColumn> columns;
};

// A first line of numbers and times is a reading.
bool has_names(const std::vector<std::string>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const std::string& cell) { return !cell.empty() && !time_of(cell); });
}

Result<Sheet> sheet_of(std::string_view header, const std::string& file) {
  const char separator = csv_separator(header);
  const auto names = csv_cells(header, separator);
  if (names.size() > kMaxColumns)
    return fail(Errc::exhausted, file + ": more than " + std::to_string(kMaxColumns) + " columns");
  if (!has_names(names))
    return fail(Errc::malformed, file +
                                     ":1: the first line has numbers and no column names; add a line such as "
                                     "time,%user,%idle or time,gpu0,mem0 above it");
  Sheet sheet{names, separator, std::nullopt, {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!sheet.time_cell && is_time_name(names[i]))
      sheet.time_cell = i;
    else if (!is_id_name(names[i]))
      sheet.columns.push_back(column_of(i, names[i]));
  }
  return sheet;
}

std::vector<Series> empty_series(const Sheet& sheet, const std::string& file) {
  std::vector<Series> series;
  for (const SheetColumn& column : sheet.columns) {
    Series one;
    one.metric = column.meaning.metric;
    one.unit = column.meaning.unit;
    one.subject = column.subject;
    one.source = {file, 0, 0, static_cast<int>(column.cell + 1),
                  to_printable(sheet.names[column.cell], kLongestName)};
    series.push_back(std::move(one));
  }
  return series;
}

// Sheets have percents, or fractions of 1 in all their columns of GPUs.
void scale_fractions(Readings& readings, const std::string& file) {
  double most = 0;
  bool has_gpu = false;
  for (const Series& series : readings.series)
    if (series.metric.starts_with("gpu.")) {
      has_gpu = true;
      most = std::max(most, *std::max_element(series.values.begin(), series.values.end()));
    }
  if (!has_gpu || most > 1 || most == 0) return;
  for (Series& series : readings.series)
    if (series.metric.starts_with("gpu."))
      for (double& value : series.values)
        value *= 100;
  readings.notes.push_back(
      file + ": values of GPUs are at most 1 and were read as fractions; they are shown in percent");
}

}  // namespace

Result<Readings> parse_csv_sheet(std::string_view text, const std::string& file) {
  TextLines lines(text);
  std::string_view line;
  if (!lines.next(line)) return fail(Errc::malformed, file + ": the file is empty");
  const Sheet sheet = TRY(sheet_of(line, file));
  RefusedCells refused;
  TableOfReadings table(empty_series(sheet, file));
  bool is_of_day = false;
  std::size_t count = 0;
  while (lines.next(line)) {
    if (trim(line).empty()) continue;
    const auto cells = csv_cells(line, sheet.separator);
    count += sheet.columns.size();
    if (count > kMaxValues)
      return fail(Errc::exhausted,
                  file + ": more than " + std::to_string(kMaxValues) + " values; give a part of it");
    const auto cell = [&cells](std::size_t i) { return i < cells.size() ? std::string_view(cells[i]) : ""; };
    const auto time = sheet.time_cell ? time_of(cell(*sheet.time_cell)) : std::nullopt;
    if (time) is_of_day = time->is_of_day;
    table.begin_row(lines.number(), time ? std::optional(time->seconds) : std::nullopt);
    for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
      const SheetColumn& column = sheet.columns[i];
      const CellPlace place{lines.number(), static_cast<int>(column.cell + 1), sheet.names[column.cell]};
      table.add(i, refused.number_in(cell(column.cell), column.meaning.metric, place, column.meaning.factor));
    }
  }
  Readings readings;
  readings.series = table.finish(is_of_day);
  if (readings.series.empty())
    return fail(Errc::malformed,
                file +
                    ": no column with numbers below its first line; a sheet needs one line of "
                    "column names and then one line for each reading");
  scale_fractions(readings, file);
  refused.add_note(readings, file);
  return readings;
}

}  // namespace autopilot::workloads::compare
