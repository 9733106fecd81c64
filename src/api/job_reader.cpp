// SPDX-License-Identifier: Apache-2.0
#include "api/job_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace autopilot::api::job_format {
namespace {

std::string shown(double number) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

std::string outside(double number, double low, double high) {
  if (number < low) return shown(number) + " is below " + shown(low);
  return shown(number) + " is above " + shown(high);
}

std::size_t rows_of(jobs::Table table, const jobs::WindowRecord& record) {
  switch (table) {
    case jobs::Table::gpu:
      return record.gpus.size();
    case jobs::Table::process:
      return record.processes.size();
    case jobs::Table::nic:
      return record.nics.size();
    case jobs::Table::host:
      break;
  }
  return 1;
}

template <class T, class Same>
std::optional<std::size_t> find_repeated(const std::vector<T>& keys, Same same) {
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (same(keys[i], keys[j])) return i;
  return std::nullopt;
}

}  // namespace

bool JobLineReader::within(std::string_view member) {
  // In a path, a list follows its member without a dot.
  std::string part(member);
  if (!path_.empty() && !path_.back().starts_with('[')) part += '.';
  path_.push_back(std::move(part));
  return false;
}

bool JobLineReader::within(std::size_t index) {
  std::string part = "[" + std::to_string(index) + "]";
  if (!path_.empty() && !path_.back().starts_with('[')) part += '.';
  path_.push_back(std::move(part));
  return false;
}

std::string JobLineReader::problem() const {
  std::string text;
  for (auto part = path_.rbegin(); part != path_.rend(); ++part)
    text += *part;
  return text.empty() ? json_.problem() : text + ": " + json_.problem();
}

bool JobLineReader::read_name(std::string& name) {
  if (!json_.read_text(name)) return false;
  return is_name(name) || fail("expected 1 to 253 characters without control characters");
}

bool JobLineReader::read_text(std::string& text, std::size_t bytes) {
  if (!json_.read_text(text)) return false;
  return text.size() <= bytes || fail("longer than " + std::to_string(bytes) + " bytes");
}

bool JobLineReader::read_integer(std::int64_t& number, std::int64_t low, std::int64_t high) {
  JsonNumber read;
  if (!json_.read_number(read)) return false;
  const auto integer = read.integer();
  if (!integer) return fail("expected an integer");
  number = *integer;
  if (number < low) return fail(std::to_string(number) + " is below " + std::to_string(low));
  return number <= high || fail(std::to_string(number) + " is above " + std::to_string(high));
}

bool JobLineReader::read_number(double& number, double low, double high) {
  JsonNumber read;
  if (!json_.read_number(read)) return false;
  number = read.value;
  return (number >= low && number <= high) || fail(outside(number, low, high));
}

bool JobLineReader::read_nanoseconds(std::int64_t& time, double low, double high) {
  JsonNumber read;
  if (!json_.read_number(read)) return false;
  if (!(read.value >= low && read.value <= high)) return fail(outside(read.value, low, high));
  time = read.nanoseconds().value_or(0);
  return true;
}

bool JobLineReader::read_subject(std::string& subject) {
  if (!read_name(subject)) return false;
  return is_subject(subject) || fail("expected gpu/<index>, nic/<name> or host");
}

bool JobLineReader::read_loss(std::optional<double>& loss) {
  if (json_.is_text()) {
    std::string text;
    if (!json_.read_text(text)) return false;
    if (text != "nan") return fail("expected a number or \"nan\"");
    loss = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  JsonNumber read;
  if (!json_.read_number(read)) return false;
  loss = read.value;
  return true;
}

bool JobLineReader::read_floats(std::vector<float>& values, double low, double high, std::size_t limit) {
  if (!json_.enter_list()) return false;
  JsonNumber read;
  while (json_.next_item()) {
    if (values.size() == limit) return fail("more than " + std::to_string(limit) + " values");
    if (json_.take_null()) {
      values.push_back(jobs::kMissing);
      continue;
    }
    if (!json_.read_number(read)) return within(values.size());
    if (!(read.value >= low && read.value <= high)) {
      fail(outside(read.value, low, high));
      return within(values.size());
    }
    values.push_back(static_cast<float>(read.value));
  }
  return !json_.has_failed();
}

// Reads one key column; `rows` is its length.
bool JobLineReader::read_keys(jobs::Table table, std::string_view name, jobs::WindowRecord& record,
                              std::size_t& rows) {
  std::int64_t number = 0;
  if (table == jobs::Table::gpu)
    return read_list(kMaxGpus, [&] {
      if (!read_integer(number, 0, kHighestIndex)) return false;
      record.gpus.push_back(static_cast<int>(number));
      ++rows;
      return true;
    });
  if (table == jobs::Table::nic)
    return read_list(kMaxNics, [&] {
      ++rows;
      return read_name(record.nics.emplace_back());
    });
  return read_list(kMaxProcesses, [&] {
    if (rows == record.processes.size()) record.processes.emplace_back();
    jobs::ProcessKey& key = record.processes[rows++];
    if (name == "job") return read_name(key.job);
    if (!read_integer(number, 0, kHighestRank)) return false;
    key.rank = static_cast<int>(number);
    return true;
  });
}

bool JobLineReader::read_column(jobs::Table table, std::string_view name, jobs::WindowRecord& record,
                                bool is_single) {
  // Writers keep the order of the columns, and mostly that of the page.
  std::optional<jobs::Metric> metric;
  if (next_metric_ < jobs::kMetrics.size() && jobs::kMetrics[next_metric_].table == table &&
      jobs::kMetrics[next_metric_].name == name)
    metric = jobs::kMetrics[next_metric_].metric;
  else
    metric = jobs::find_metric(table, name);
  if (!metric) return name.starts_with("x_") ? json_.skip_value() : fail("unknown member");
  const auto position = static_cast<std::size_t>(*metric);
  next_metric_ = position + 1;
  if (seen_metrics_[position]) return fail("appears twice");
  seen_metrics_[position] = true;
  if (json_.take_null()) return true;
  const jobs::MetricInfo& metric_info = jobs::info(*metric);
  jobs::Column& column = record.columns.emplace_back(jobs::Column{*metric, {}});
  if (is_single) {
    double value = 0;
    if (!read_number(value, min_of(metric_info), metric_info.max)) return false;
    column.values.push_back(static_cast<float>(value));
    return true;
  }
  column.values.reserve(std::max<std::size_t>(rows_of(table, record), 8));
  return read_floats(column.values, min_of(metric_info), metric_info.max, kMaxProcesses);
}

bool JobLineReader::fail_length(std::size_t expected, std::size_t found, std::string_view member) {
  fail("expected " + std::to_string(expected) + " values, found " + std::to_string(found));
  return within(member);
}

bool JobLineReader::check_keys(jobs::Table table, const jobs::WindowRecord& record) {
  std::optional<std::size_t> repeated;
  if (table == jobs::Table::gpu)
    repeated = find_repeated(record.gpus, [](int a, int b) { return a == b; });
  else if (table == jobs::Table::nic)
    repeated = find_repeated(record.nics, [](const auto& a, const auto& b) { return a == b; });
  else
    repeated = find_repeated(record.processes, [](const jobs::ProcessKey& a, const jobs::ProcessKey& b) {
      return a.rank == b.rank && a.job == b.job;
    });
  if (!repeated) return true;
  fail("appears twice in the table");
  within(*repeated);
  return within(key_columns(table).back());
}

bool JobLineReader::read_table(jobs::Table table, jobs::WindowRecord& record) {
  const std::size_t first_column = record.columns.size();
  const std::span<const std::string_view> keys = key_columns(table);
  std::array<std::optional<std::size_t>, 2> lengths;
  std::string_view name;
  if (!json_.enter_object()) return false;
  while (json_.next_member(name)) {
    const auto key = static_cast<std::size_t>(std::ranges::find(keys, name) - keys.begin());
    if (key == keys.size()) {
      if (!read_column(table, name, record, false)) return within(name);
      continue;
    }
    std::size_t rows = 0;
    if (lengths[key]) fail("appears twice");
    if (json_.has_failed() || !read_keys(table, name, record, rows)) return within(name);
    lengths[key] = rows;
  }
  if (json_.has_failed()) return false;
  const std::size_t rows = rows_of(table, record);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!lengths[i]) fail("missing");
    if (!lengths[i]) return within(keys[i]);
    if (*lengths[i] != rows) return fail_length(rows, *lengths[i], keys[i]);
  }
  for (std::size_t i = first_column; i < record.columns.size(); ++i)
    if (const jobs::Column& column = record.columns[i]; column.values.size() != rows)
      return fail_length(rows, column.values.size(), jobs::info(column.metric).name);
  return check_keys(table, record);
}

bool JobLineReader::read_host(jobs::WindowRecord& record) {
  std::string_view name;
  if (!json_.enter_object()) return false;
  while (json_.next_member(name))
    if (!read_column(jobs::Table::host, name, record, true)) return within(name);
  return !json_.has_failed();
}

}  // namespace autopilot::api::job_format
