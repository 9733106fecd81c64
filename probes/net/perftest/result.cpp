// SPDX-License-Identifier: Apache-2.0
#include "probes/net/perftest/result.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/parse.hpp"
#include "probes/net/perftest/arguments.hpp"

namespace autopilot::probes::net {
namespace {

// Above every link rate and message time: a larger number is not a measurement.
constexpr double kMostBits = 1e15;
constexpr double kMostMicroseconds = 1e9;
constexpr double kGigabit = 1e9;
constexpr std::string_view kFirstColumn = "#bytes";
constexpr std::size_t kLongestQuote = 60;

// The column names and the numbers of the only row.
struct Table {
  std::vector<std::string> columns;
  std::vector<double> row;
};

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(Errc::malformed, what);
}

std::string in_quotes(std::string_view text) {
  return "'" + to_printable(text, kLongestQuote) + "'";
}

// A name can end with a unit in brackets or begin with '#', and can have several words.
std::vector<std::string> columns_in(std::string_view header) {
  std::vector<std::string> columns;
  std::string name;
  for (const std::string_view word : split_words(header)) {
    name.append(name.empty() ? "" : " ").append(word);
    if (!name.starts_with('#') && !name.ends_with(']')) continue;
    columns.push_back(std::move(name));
    name.clear();
  }
  if (!name.empty()) columns.push_back(std::move(name));
  return columns;
}

bool has_column(const Table& table, std::string_view name) {
  return std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end();
}

bool begins_with_number(const std::vector<std::string_view>& words) {
  return !words.empty() && parse_number<double>(words[0]).has_value();
}

Status take_header(std::string_view line, Table& table) {
  if (!table.columns.empty()) return refuse("more than one table");
  table.columns = columns_in(line);
  std::vector<std::string> sorted = table.columns;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return refuse("duplicate column");
  return {};
}

Status take_row(const std::vector<std::string_view>& words, int bytes, Table& table) {
  if (!table.row.empty()) return refuse("the table has more than one row");
  if (words.size() != table.columns.size())
    return refuse("a row of " + std::to_string(words.size()) + " numbers below " +
                  std::to_string(table.columns.size()) + " columns");
  for (const std::string_view word : words) {
    const auto number = parse_number<double>(word);
    if (!number) return refuse(in_quotes(word) + " is not a number");
    table.row.push_back(*number);
  }
  if (parse_number<int>(words[0]) != bytes)
    return refuse("a row of messages of " + in_quotes(words[0]) + " bytes, not of " + std::to_string(bytes));
  return {};
}

// Other lines can be anywhere.
Result<Table> table_in(std::string_view output, int bytes) {
  Table table;
  for (const std::string_view line : split(output, '\n')) {
    const auto words = split_words(line);
    if (!words.empty() && words[0] == kFirstColumn)
      TRY_STATUS(take_header(line, table));
    else if (!table.columns.empty() && begins_with_number(words))
      TRY_STATUS(take_row(words, bytes, table));
  }
  if (table.columns.empty()) return refuse("missing table");
  if (table.row.empty()) return refuse("the table has no row");
  return table;
}

Result<double> amount_of(const Table& table, const std::string& name, double most) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found == table.columns.end()) return refuse("missing column " + in_quotes(name));
  const double amount = table.row[static_cast<std::size_t>(found - table.columns.begin())];
  if (amount <= 0 || amount >= most)
    return refuse(name + " is not a valid amount: " + std::to_string(amount));
  return amount;
}

// The unit in the table, if it is not the expected one.
std::optional<std::string> other_unit_of(const Table& table, const std::string& name) {
  for (const std::string& column : table.columns)
    if (column.starts_with(name + "[")) return column.substr(name.size());
  return std::nullopt;
}

Result<double> measured_in(const Table& table, const std::string& name, const std::string& unit,
                           double most) {
  const std::string column = name + "[" + unit + "]";
  const auto other = other_unit_of(table, name);
  if (!has_column(table, column) && other)
    return refuse(name + " is in " + in_quotes(*other) + ", not in " + unit);
  return amount_of(table, column, most);
}

}  // namespace

Result<double> parse_perftest_bandwidth(std::string_view output) {
  const Table table = TRY(table_in(output, kBandwidthBytes));
  const double gigabits = TRY(measured_in(table, "BW average", "Gb/sec", kMostBits / kGigabit));
  return gigabits * kGigabit;
}

Result<PerftestLatency> parse_perftest_latency(std::string_view output) {
  const Table table = TRY(table_in(output, kLatencyBytes));
  PerftestLatency latency;
  latency.typical_microseconds = TRY(measured_in(table, "t_typical", "usec", kMostMicroseconds));
  latency.p99_microseconds = TRY(measured_in(table, "99% percentile", "usec", kMostMicroseconds));
  latency.max_microseconds = TRY(measured_in(table, "t_max", "usec", kMostMicroseconds));
  if (latency.max_microseconds < latency.typical_microseconds ||
      latency.max_microseconds < latency.p99_microseconds)
    return refuse("the maximum is not the largest value");
  return latency;
}

}  // namespace autopilot::probes::net
