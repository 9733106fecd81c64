// SPDX-License-Identifier: Apache-2.0
#include "api/job_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace autopilot::api::job_format {

void JobLineWriter::write_name(std::string_view name) {
  if (!is_first_) out_ += ',';
  is_first_ = false;
  out_ += '"';
  out_ += name;
  out_ += "\":";
}

void JobLineWriter::write_text(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  out_ += '"';
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20) {
      out_ += "\\u00";
      out_ += digits[byte >> 4U];
      out_ += digits[byte & 0xFU];
      continue;
    }
    if (letter == '"' || letter == '\\') out_ += '\\';
    out_ += letter;
  }
  out_ += '"';
}

void JobLineWriter::write_integer(std::int64_t number) {
  std::array<char, 24> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  out_.append(text.data(), end);
}

void JobLineWriter::write_number(double number) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  out_.append(text.data(), end);
}

void JobLineWriter::write_float(float number) {
  if (!std::isfinite(number)) {
    out_ += "null";
    return;
  }
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  out_.append(text.data(), end);
}

void JobLineWriter::write_floats(std::string_view name, const std::vector<float>& values) {
  write_list(name, values, [this](float value) { write_float(value); });
}

void JobLineWriter::write_seconds(Duration duration) {
  constexpr std::int64_t second = 1'000'000'000;
  std::int64_t nanoseconds = duration.count();
  if (nanoseconds < 0) out_ += '-';
  nanoseconds = std::abs(nanoseconds);
  write_integer(nanoseconds / second);
  std::int64_t rest = nanoseconds % second;
  if (rest == 0) return;
  out_ += '.';
  for (std::int64_t unit = second / 10; rest > 0; unit /= 10) {
    out_ += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
}

void JobLineWriter::write_keys(jobs::Table table, const jobs::WindowRecord& record) {
  if (table == jobs::Table::gpu) {
    write_list("index", record.gpus, [this](int index) { write_integer(index); });
  } else if (table == jobs::Table::nic) {
    write_list("nic", record.nics, [this](const std::string& nic) { write_text(nic); });
  } else {
    write_list("job", record.processes, [this](const jobs::ProcessKey& key) { write_text(key.job); });
    write_list("rank", record.processes, [this](const jobs::ProcessKey& key) { write_integer(key.rank); });
  }
}

void JobLineWriter::table(std::string_view name, jobs::Table table, const jobs::WindowRecord& record) {
  const bool has_rows = (table == jobs::Table::gpu && !record.gpus.empty()) ||
                        (table == jobs::Table::process && !record.processes.empty()) ||
                        (table == jobs::Table::nic && !record.nics.empty());
  if (!has_rows) return;
  write_name(name);
  begin();
  write_keys(table, record);
  for (const jobs::Column& column : record.columns)
    if (jobs::info(column.metric).table == table) write_floats(jobs::info(column.metric).name, column.values);
  end();
  is_first_ = false;
}

void JobLineWriter::host(std::string_view name, const jobs::WindowRecord& record) {
  const auto is_known = [](const jobs::Column& column) {
    return jobs::info(column.metric).table == jobs::Table::host && !column.values.empty() &&
           std::isfinite(column.values.front());
  };
  if (std::ranges::none_of(record.columns, is_known)) return;
  write_name(name);
  begin();
  for (const jobs::Column& column : record.columns) {
    if (!is_known(column)) continue;
    write_name(jobs::info(column.metric).name);
    write_float(column.values.front());
  }
  end();
  is_first_ = false;
}

}  // namespace autopilot::api::job_format
