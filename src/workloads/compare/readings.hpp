// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "workloads/compare/series.hpp"

namespace autopilot::workloads::compare {

// A result that is one number: a bandwidth, a total, a duration.
struct Measure {
  std::string metric;   // "nccl.busbw"
  std::string subject;  // "1073741824 B"; may be empty
  std::string unit;     // "GB/s"
  double value = 0;
  std::optional<double> threshold;  // that the program compared it with; larger is better
  Source source;
  bool is_wrong = false;  // the program that measured it found wrong results
};

// What one file contains.
struct Readings {
  std::vector<Series> series;
  std::vector<Measure> measures;
  std::vector<std::string> notes;  // what a reader of the numbers must know, with the file
};

// More values in one file are Errc::exhausted.
inline constexpr std::size_t kMaxValues = 8'000'000;
inline constexpr std::size_t kMaxColumns = 1024;
// A number beyond this is damaged text, not a reading.
inline constexpr double kMostValue = 1e18;

// A longer line is cut after this many bytes.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;

// The lines of a text, without a byte order mark, without line ends and without the prefix "[1,0]<stdout>:"
// of mpirun --tag-output.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }
  // False at the end. `line` is valid as long as the text.
  bool next(std::string_view& line);
  [[nodiscard]] int number() const { return number_; }  // of the last line, from 1

 private:
  std::string_view rest_;
  int number_ = 0;
};

// What a column of sar, or of a sheet with the same columns, measures.
struct ColumnMeaning {
  std::string metric;
  std::string unit;
  double factor = 1;  // to that unit
};
// "%user": cpu.user. "gpu0", "mem0" are not known here.
[[nodiscard]] std::optional<ColumnMeaning> sar_column(std::string_view name);

// A number of at most kMostValue with a point or, as some locales write it, a comma; spaces around it do not
// count.
[[nodiscard]] std::optional<double> parse_decimal(std::string_view text);

// Collects the rows of one table with times. `file`, `metric` ... are filled in by the reader of the format.
class TableOfReadings {
 public:
  explicit TableOfReadings(std::vector<Series> columns) : columns_(std::move(columns)) {}
  // Seconds of the day or since an epoch; nullopt: the row has no time.
  void begin_row(int line, std::optional<double> time_s);
  // nullopt: no value in this row.
  void add(std::size_t column, std::optional<double> value);
  // The series with at least one value, with times, gaps and repairs. `is_time_of_day`: the times may pass
  // midnight, and those of a 12-hour clock may have lost their meridiem.
  [[nodiscard]] std::vector<Series> finish(bool is_time_of_day);
  // The time of the first row; nullopt: a row has no time.
  [[nodiscard]] std::optional<double> first_time() const;

 private:
  std::vector<Series> columns_;
  std::vector<std::vector<std::size_t>> rows_;  // of the values of each column
  std::vector<double> times_;
  std::size_t count_ = 0;
  int line_ = 0;
};

}  // namespace autopilot::workloads::compare
