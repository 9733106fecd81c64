// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/readings.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "core/parse.hpp"
#include "workloads/compare/clock_times.hpp"

namespace autopilot::workloads::compare {
namespace {

struct KnownColumn {
  std::string_view name;
  std::string_view metric;
  std::string_view unit;
  double factor;
};

// sysstat 9 to 12 (sar.1, 2023-04).
constexpr double kSector = 512;
constexpr double kKilo = 1024;
constexpr std::array<KnownColumn, 42> kColumns{{
    {"%user", "cpu.user", "%", 1},
    {"%usr", "cpu.user", "%", 1},
    {"%nice", "cpu.nice", "%", 1},
    {"%system", "cpu.system", "%", 1},
    {"%sys", "cpu.system", "%", 1},
    {"%iowait", "cpu.iowait", "%", 1},
    {"%steal", "cpu.steal", "%", 1},
    {"%irq", "cpu.irq", "%", 1},
    {"%soft", "cpu.soft", "%", 1},
    {"%guest", "cpu.guest", "%", 1},
    {"%gnice", "cpu.guest_nice", "%", 1},
    {"%idle", "cpu.idle", "%", 1},
    {"kbmemfree", "mem.free", "kB", 1},
    {"kbavail", "mem.available", "kB", 1},
    {"kbmemused", "mem.used", "kB", 1},
    {"%memused", "mem.used_percent", "%", 1},
    {"kbbuffers", "mem.buffers", "kB", 1},
    {"kbcached", "mem.cached", "kB", 1},
    {"kbcommit", "mem.commit", "kB", 1},
    {"%commit", "mem.commit_percent", "%", 1},
    {"kbactive", "mem.active", "kB", 1},
    {"kbinact", "mem.inactive", "kB", 1},
    {"kbdirty", "mem.dirty", "kB", 1},
    {"kbanonpg", "mem.anonymous", "kB", 1},
    {"kbslab", "mem.slab", "kB", 1},
    {"kbkstack", "mem.kernel_stacks", "kB", 1},
    {"kbpgtbl", "mem.page_tables", "kB", 1},
    {"kbvmused", "mem.vmalloc", "kB", 1},
    {"tps", "io.transfers", "1/s", 1},
    {"rtps", "io.reads", "1/s", 1},
    {"wtps", "io.writes", "1/s", 1},
    {"bread/s", "io.read", "B/s", kSector},
    {"bwrtn/s", "io.written", "B/s", kSector},
    {"rkB/s", "io.read", "B/s", kKilo},
    {"wkB/s", "io.written", "B/s", kKilo},
    {"rd_sec/s", "io.read", "B/s", kSector},
    {"wr_sec/s", "io.written", "B/s", kSector},
    {"await", "io.wait", "ms", 1},
    {"%util", "io.busy", "%", 1},
    {"rxkB/s", "net.received", "B/s", kKilo},
    {"txkB/s", "net.sent", "B/s", kKilo},
    {"%ifutil", "net.busy", "%", 1},
}};

}  // namespace

bool TextLines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const auto end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  line = line.substr(0, kLongestLine);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with('[')) {
    const auto tag = line.substr(0, 64).find("<stdout>");
    if (tag != std::string_view::npos) line.remove_prefix(tag + std::string_view("<stdout>").size());
    if (tag != std::string_view::npos && line.starts_with(':')) line.remove_prefix(1);
  }
  return true;
}

std::optional<ColumnMeaning> sar_column(std::string_view name) {
  for (const KnownColumn& known : kColumns)
    if (known.name == name)
      return ColumnMeaning{std::string(known.metric), std::string(known.unit), known.factor};
  return std::nullopt;
}

std::optional<double> parse_decimal(std::string_view text) {
  text = trim(text);
  const auto comma = text.find(',');
  std::string with_point(text);
  if (comma != std::string_view::npos) {
    if (text.find('.') != std::string_view::npos) return std::nullopt;
    with_point[comma] = '.';
  }
  const auto number = parse_number<double>(with_point);
  return number && std::abs(*number) <= kMostValue ? number : std::nullopt;
}

void TableOfReadings::begin_row(int line, std::optional<double> time_s) {
  if (rows_.empty()) rows_.resize(columns_.size());
  if (time_s) times_.push_back(*time_s);
  line_ = line;
  ++count_;
}

void TableOfReadings::add(std::size_t column, std::optional<double> value) {
  Series& series = columns_[column];
  if (!value) {
    ++series.missing;
    return;
  }
  if (series.source.first_line == 0) series.source.first_line = line_;
  series.source.last_line = line_;
  series.values.push_back(*value);
  rows_[column].push_back(count_ - 1);
}

std::optional<double> TableOfReadings::first_time() const {
  return !times_.empty() && times_.size() == count_ ? std::optional(times_.front()) : std::nullopt;
}

std::vector<Series> TableOfReadings::finish(bool is_time_of_day) {
  // A table in which a row has no time has none: a part of the times would move the others.
  const bool has_times = !times_.empty() && times_.size() == count_;
  const PlacedTimes placed = has_times ? place_times(times_, is_time_of_day) : PlacedTimes{};
  std::vector<Series> found;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Series& series = columns_[i];
    if (series.values.empty()) continue;
    if (has_times) {
      for (const std::size_t row : rows_[i])
        series.seconds.push_back(placed.seconds[row]);
      series.interval_s = placed.interval_s;
      series.gaps = placed.gaps;
      if (is_time_of_day) series.clock_s = times_.front();
    }
    found.push_back(std::move(series));
  }
  return found;
}

}  // namespace autopilot::workloads::compare
