// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/intervals.hpp"

// What was measured while a job ran, and the statistics of it. Pure.
namespace autopilot::workloads::compare {

// Where numbers come from.
struct Source {
  std::string file;
  int first_line = 0;  // from 1; 0: the file as a whole
  int last_line = 0;
  int column = 0;    // from 1; 0: the file has no columns
  std::string name;  // of the column or member, as the file writes it; may be empty
};

// "cpu.txt:3-1598, column 3 (%user)"
[[nodiscard]] std::string to_string(const Source& source);

// A pause between two readings that is longer than 1.5 intervals.
struct Gap {
  double after_s = 0;  // seconds since the first reading
  double length_s = 0;
  bool is_repaired = false;  // a 12-hour clock without its meridiem: the pause did not happen
};

// The readings of one metric of one subject in one file, in the order of the file.
struct Series {
  std::string metric;   // "cpu.user"
  std::string subject;  // "GPU 0"; empty: the machine
  std::string unit;     // "%", "kB", "B/s"
  Source source;
  std::vector<double> values;
  std::vector<double> seconds;       // since the first reading of the file; empty: the file has no times
  std::optional<double> clock_s;     // time of day of the first reading
  std::optional<double> interval_s;  // usual distance of two readings
  std::vector<Gap> gaps;             // also repaired ones
  std::size_t missing = 0;           // rows without a value in this column
  bool has_assumed_times = false;    // the times follow from the interval, not from the file
};

struct Statistics {
  std::size_t readings = 0;
  double mean = 0;
  double deviation = 0;  // standard deviation of these readings (divided by n)
  double median = 0;     // nearest rank, as p95
  double p95 = 0;
  double least = 0;
  double most = 0;
};

// nullopt without a value.
[[nodiscard]] std::optional<Statistics> statistics_of(std::span<const double> values);

// Share of the readings above a limit; 0 without a value.
[[nodiscard]] double share_above(std::span<const double> values, double limit);

// Seconds from the first to the last reading; nullopt if the times are unknown.
[[nodiscard]] std::optional<double> span_of(const Series& series);

// 95 % bounds of mean(b) - mean(a). Readings that follow each other are alike, so the bounds come from the
// means of 20 equal parts of each series. nullopt below 40 readings on a side.
[[nodiscard]] std::optional<Interval> difference_of_means(std::span<const double> a,
                                                          std::span<const double> b);

// Gives a series without times the times of equal intervals.
void assume_times(Series& series, double interval_s);

inline constexpr int kUsualDigits = 4;

// "3.246", "94996986", "0.00083": as many significant digits, or all digits before the point.
[[nodiscard]] std::string number_text(double number, int significant = kUsualDigits);

// Significant digits, from kUsualDigits to 12, with which two different numbers have different texts.
[[nodiscard]] int digits_that_differ(double a, double b);

}  // namespace autopilot::workloads::compare
