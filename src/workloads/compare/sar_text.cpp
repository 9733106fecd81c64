// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "core/parse.hpp"
#include "workloads/compare/clock_times.hpp"
#include "workloads/compare/readers.hpp"
#include "workloads/compare/refused_cells.hpp"

namespace autopilot::workloads::compare {
namespace {

// Columns that name what a row is about.
constexpr std::array<std::string_view, 4> kKeyColumns{"CPU", "DEV", "IFACE", "Device"};

std::string subject_of(std::string_view key, std::string_view value) {
  if (key == "CPU") return value == "all" ? "" : "CPU " + to_printable(value, 16);
  return to_printable(value, 64);
}

class SarReader {
 public:
  explicit SarReader(const std::string& file) : file_(file) {}

  Status read(std::string_view text) {
    TextLines lines(text);
    for (std::string_view line; lines.next(line);)
      TRY_STATUS(read_line(line, lines.number()));
    return {};
  }

  Result<Readings> finish() {
    for (auto& [key, table] : tables_) {
      for (Series& series : table.finish(true))
        found_.series.push_back(std::move(series));
    }
    if (found_.series.empty())
      return fail(Errc::malformed, file_ + ": no row of sar; give the output of sar, such as sar -u 5");
    refused_.add_note(found_, file_);
    if (restarts_ > 0)
      found_.notes.push_back(file_ + ": the machine restarted " + std::to_string(restarts_) +
                             " times while sar ran; the time of a restart is a gap");
    return std::move(found_);
  }

 private:
  Status read_line(std::string_view line, int number) {
    auto words = split_words(line);
    if (words.size() < 2 || words[0].starts_with("Average") || words[0] == "Linux") return {};
    if (line.find("LINUX RESTART") != std::string_view::npos) {
      ++restarts_;
      return {};
    }
    std::string clock(words[0]);
    std::size_t first = 1;
    const std::string half = to_lower(words[1]);
    if (half == "am" || half == "pm") {
      clock += " " + half;
      first = 2;
    }
    const auto time = parse_clock(clock);
    if (!time || words.size() <= first) return {};
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first));
    if (is_header(words)) {
      columns_.assign(words.begin(), words.end());
      return {};
    }
    return columns_.empty() ? Status{} : read_row(words, number, *time, first);
  }

  // A row has a number in its last cell, a header has a name there.
  static bool is_header(const std::vector<std::string_view>& words) {
    return std::any_of(words.begin(), words.end(),
                       [](std::string_view word) { return sar_column(word).has_value(); });
  }

  Status read_row(const std::vector<std::string_view>& words, int number, double time, std::size_t first) {
    if (words.size() != columns_.size())
      return fail(Errc::malformed, file_ + ":" + std::to_string(number) + ": " +
                                       std::to_string(words.size()) + " cells below " +
                                       std::to_string(columns_.size()) +
                                       " columns; the file was cut or edited there");
    count_ += words.size();
    if (count_ > kMaxValues)
      return fail(Errc::exhausted,
                  file_ + ": more than " + std::to_string(kMaxValues) + " values; give a part of it");
    const auto key = std::find(kKeyColumns.begin(), kKeyColumns.end(), columns_[0]);
    const std::string subject = key == kKeyColumns.end() ? std::string() : subject_of(*key, words[0]);
    TableOfReadings* table = TRY(table_of(subject, first));
    table->begin_row(number, time);
    for (std::size_t i = 0, at = 0; i < words.size(); ++i)
      if (const auto meaning = sar_column(columns_[i])) {
        const CellPlace place{number, static_cast<int>(i + first + 1), columns_[i]};
        table->add(at++, refused_.number_in(words[i], meaning->metric, place, meaning->factor));
      }
    return {};
  }

  // The table of the columns and the subject; `first`: words of the time before the columns.
  Result<TableOfReadings*> table_of(const std::string& subject, std::size_t first) {
    std::string name = subject;
    for (const std::string& column : columns_)
      name += "\n" + column;
    if (const auto known = tables_.find(name); known != tables_.end()) return &known->second;
    if (tables_.size() >= kMaxColumns || columns_.size() > kMaxColumns)
      return fail(Errc::exhausted, file_ + ": more than " + std::to_string(kMaxColumns) +
                                       " devices or columns; give the report of fewer devices");
    std::vector<Series> columns;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (const auto meaning = sar_column(columns_[i])) {
        Series series;
        series.metric = meaning->metric;
        series.unit = meaning->unit;
        series.subject = subject;
        series.source = {file_, 0, 0, static_cast<int>(i + first + 1), columns_[i]};
        columns.push_back(std::move(series));
      }
    return &tables_.emplace(std::move(name), TableOfReadings(std::move(columns))).first->second;
  }

  std::string file_;
  std::vector<std::string> columns_;
  std::map<std::string, TableOfReadings> tables_;
  RefusedCells refused_;
  Readings found_;
  std::size_t count_ = 0;
  int restarts_ = 0;
};

}  // namespace

Result<Readings> parse_sar(std::string_view text, const std::string& file) {
  SarReader reader(file);
  TRY_STATUS(reader.read(text));
  return reader.finish();
}

}  // namespace autopilot::workloads::compare
