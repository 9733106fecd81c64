// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "core/clock.hpp"
#include "core/parse.hpp"
#include "workloads/compare/csv_cells.hpp"
#include "workloads/compare/readers.hpp"
#include "workloads/compare/refused_cells.hpp"

namespace autopilot::workloads::compare {
namespace {

struct SmiColumn {
  std::string_view query;
  std::string_view metric;
  std::string_view unit;
};

// Names of nvidia-smi --help-query-gpu (driver 580).
constexpr std::array<SmiColumn, 10> kSmiColumns{{
    {"utilization.gpu", "gpu.util", "%"},
    {"utilization.memory", "gpu.memory_busy", "%"},
    {"memory.used", "gpu.memory_used", "MiB"},
    {"memory.total", "gpu.memory_total", "MiB"},
    {"memory.free", "gpu.memory_free", "MiB"},
    {"power.draw", "gpu.power", "W"},
    {"temperature.gpu", "gpu.temperature", "C"},
    {"clocks.current.sm", "gpu.sm_clock", "MHz"},
    {"clocks.sm", "gpu.sm_clock", "MHz"},
    {"power.limit", "gpu.power_limit", "W"},
}};

constexpr double kRowsOfOneReading_s = 0.5;
constexpr double kSecondsOfDay = 86'400;

// "utilization.gpu [%]" without the unit.
std::string query_of(std::string_view cell) {
  return std::string(trim(cell.substr(0, cell.find('['))));
}

// "57" of "57 %".
std::string_view without_unit(std::string_view cell) {
  return cell.starts_with('[') ? cell : cell.substr(0, cell.find(' '));
}

// "2020/04/21 12:15:47.123" as seconds.
std::optional<double> smi_time(std::string text) {
  std::replace(text.begin(), text.end(), '/', '-');
  std::replace(text.begin(), text.end(), ' ', 'T');
  const auto time = parse_time(text + "Z");
  return time ? std::optional(to_seconds(time->time_since_epoch())) : std::nullopt;
}

class SmiReader {
 public:
  SmiReader(const std::string& file, const SmiLayout& layout) : file_(file), layout_(layout) {}

  Status read(std::string_view text) {
    TextLines lines(text);
    for (std::string_view line; lines.next(line);) {
      if (trim(line).empty()) continue;
      auto cells = csv_cells(line);
      if (line.find("utilization.gpu") != std::string_view::npos)
        TRY_STATUS(begin_columns(cells));
      else if (!names_.empty() && cells.size() == names_.size())
        TRY_STATUS(read_row(std::move(cells), lines.number()));
      else
        ++strange_;  // an error of nvidia-smi, or the half of the last line
    }
    return {};
  }

  Result<Readings> finish() {
    if (tables_.empty()) return fail(Errc::malformed, file_ + ": no row of nvidia-smi below its header line");
    Readings found;
    for (auto& [gpu, table] : tables_) {
      // nvidia-smi writes local dates and times, as sar writes local times of the day.
      const auto first = table.first_time();
      for (Series& series : table.finish(false)) {
        if (first) series.clock_s = std::fmod(*first, kSecondsOfDay);
        found.series.push_back(std::move(series));
      }
    }
    for (Series& series : found.series)
      if (!has_time_ && layout_.interval) assume_times(series, *layout_.interval);
    if (strange_ > 0)
      found.notes.push_back(file_ + ": " + std::to_string(strange_) +
                            " lines are not rows of nvidia-smi and were left out");
    refused_.add_note(found, file_);
    if (!has_key_)
      found.notes.push_back(file_ + ": no column names the GPU; its rows were read as those of " +
                            std::to_string(*layout_.gpus) + " GPUs, one after the other");
    return found;
  }

 private:
  Status begin_columns(const std::vector<std::string>& cells) {
    names_.clear();
    for (const std::string& cell : cells)
      names_.push_back(query_of(cell));
    row_of_start_ = 0;
    key_cell_.reset();
    time_cell_.reset();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == "index" || (!key_cell_ && (names_[i] == "uuid" || names_[i] == "pci.bus_id")))
        key_cell_ = i;
      if (names_[i] == "timestamp") time_cell_ = i;
    }
    has_time_ = time_cell_.has_value();
    has_key_ = key_cell_ || has_time_;
    if (!has_key_ && (!layout_.gpus || *layout_.gpus < 1))
      return fail(Errc::not_found,
                  file_ +
                      ": no column names the GPU, and the number of GPUs is not known; query "
                      "index as well, or state sampled_gpus in facts.yaml");
    return {};
  }

  Status read_row(std::vector<std::string> cells, int number) {
    count_ += cells.size();
    if (count_ > kMaxValues)
      return fail(Errc::exhausted,
                  file_ + ": more than " + std::to_string(kMaxValues) + " values; give a part of it");
    const auto time = time_cell_ ? smi_time(cells[*time_cell_]) : std::nullopt;
    const std::string gpu = gpu_of(cells, time);
    auto known = tables_.find(gpu);
    if (known == tables_.end()) {
      if (tables_.size() >= kMaxColumns)
        return fail(Errc::exhausted, file_ + ": more GPUs than a machine has");
      known = tables_.emplace(gpu, TableOfReadings(columns_of(gpu))).first;
    }
    known->second.begin_row(number, time);
    for (std::size_t column = 0; column < kSmiColumns.size(); ++column) {
      const auto cell = cell_of(column);
      if (!cell) {
        known->second.add(column, std::nullopt);
        continue;
      }
      const CellPlace place{number, static_cast<int>(*cell + 1), kSmiColumns[column].query};
      known->second.add(column,
                        refused_.number_in(without_unit(cells[*cell]), kSmiColumns[column].metric, place));
    }
    ++row_of_start_;
    return {};
  }

  std::string gpu_of(const std::vector<std::string>& cells, std::optional<double> time) {
    if (key_cell_) return "GPU " + to_printable(cells[*key_cell_], 48);
    if (time_cell_) {
      // The rows of one reading have nearly the same time.
      const bool is_same = time && last_time_ && std::abs(*time - *last_time_) < kRowsOfOneReading_s;
      position_ = is_same ? position_ + 1 : 0;
      if (time) last_time_ = time;
      return "GPU " + std::to_string(position_);
    }
    return "GPU " + std::to_string(row_of_start_ % static_cast<std::size_t>(*layout_.gpus));
  }

  [[nodiscard]] std::optional<std::size_t> cell_of(std::size_t column) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == kSmiColumns[column].query) return i;
    return std::nullopt;
  }

  [[nodiscard]] std::vector<Series> columns_of(const std::string& gpu) const {
    std::vector<Series> columns;
    for (std::size_t column = 0; column < kSmiColumns.size(); ++column) {
      Series series;
      series.metric = kSmiColumns[column].metric;
      series.unit = kSmiColumns[column].unit;
      series.subject = gpu;
      series.source = {file_, 0, 0, static_cast<int>(cell_of(column).value_or(0) + 1),
                       std::string(kSmiColumns[column].query)};
      columns.push_back(std::move(series));
    }
    return columns;
  }

  std::string file_;
  SmiLayout layout_;
  std::vector<std::string> names_;
  std::optional<std::size_t> key_cell_, time_cell_;
  std::map<std::string, TableOfReadings> tables_;
  RefusedCells refused_;
  std::optional<double> last_time_;
  std::size_t position_ = 0;
  std::size_t row_of_start_ = 0;
  std::size_t count_ = 0;
  std::size_t strange_ = 0;
  bool has_time_ = false;
  bool has_key_ = false;
};

}  // namespace

Result<Readings> parse_smi_csv(std::string_view text, const std::string& file, const SmiLayout& layout) {
  SmiReader reader(file, layout);
  TRY_STATUS(reader.read(text));
  return reader.finish();
}

std::size_t smi_rows(std::string_view text) {
  std::size_t rows = 0;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (!trim(line).empty() && line.find("utilization.gpu") == std::string_view::npos) ++rows;
  return rows;
}

}  // namespace autopilot::workloads::compare
