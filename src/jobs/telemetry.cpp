// SPDX-License-Identifier: Apache-2.0
#include "jobs/telemetry.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::jobs {
namespace {

// The slot in which a moment lies; a window that ends exactly at a boundary belongs to the slot before it.
std::int64_t slot_of(WallTime time) {
  return (time.time_since_epoch() - Duration(1)) / kSlot;
}

std::size_t place_of(std::int64_t slot_number) {
  return static_cast<std::size_t>(slot_number % static_cast<std::int64_t>(NodeTelemetry::kSlots));
}

}  // namespace

void NodeTelemetry::describe(const NodeRecord& node) {
  gpus_ = std::max(gpus_, std::min(static_cast<std::size_t>(std::max(node.gpus, 0)), kMaxRows));
  for (const NicOfNode& nic : node.nics)
    if (!nic_row(nic.name) && nics_.size() < kMaxRows) nics_.push_back(nic.name);
}

const NodeTelemetry::Slot* NodeTelemetry::slot(std::int64_t number) const {
  if (number < 0) return nullptr;
  const Slot& held = slots_[place_of(number)];
  return held.number == number ? &held : nullptr;
}

NodeTelemetry::Slot& NodeTelemetry::open_slot(std::int64_t number) {
  const std::size_t place = place_of(number);
  Slot& held = slots_[place];
  if (held.number == number) return held;
  held = Slot{number, 0, {}};
  for (std::vector<float>& column : columns_)
    for (std::size_t at = place; at < column.size(); at += kSlots)
      column[at] = kMissing;
  return held;
}

std::optional<std::size_t> NodeTelemetry::gpu_row(int index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= gpus_) return std::nullopt;
  return static_cast<std::size_t>(index);
}

std::optional<std::size_t> NodeTelemetry::nic_row(std::string_view name) const {
  const auto found = std::ranges::find(nics_, name);
  if (found == nics_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nics_.begin());
}

std::optional<std::size_t> NodeTelemetry::process_row(std::string_view job, int rank) const {
  const auto found = std::ranges::find_if(
      processes_, [&](const ProcessKey& key) { return key.rank == rank && key.job == job; });
  if (found == processes_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - processes_.begin());
}

void NodeTelemetry::forget_job(std::string_view job) {
  for (std::size_t row = 0; row < processes_.size(); ++row) {
    if (processes_[row].job != job) continue;
    processes_[row] = {};
    for (const MetricInfo& known : kMetrics) {
      std::vector<float>& column = columns_[static_cast<std::size_t>(known.metric)];
      if (known.table != Table::process || column.size() < (row + 1) * kSlots) continue;
      std::fill_n(column.begin() + static_cast<std::ptrdiff_t>(row * kSlots), kSlots, kMissing);
    }
  }
}

NodeTelemetry::Rows NodeTelemetry::rows_of_gpus(const WindowRecord& window) {
  Rows rows;
  rows.reserve(window.gpus.size());
  for (const int index : window.gpus) {
    const bool has_place = index >= 0 && static_cast<std::size_t>(index) < kMaxRows;
    rows.push_back(has_place ? static_cast<std::size_t>(index) : kMaxRows);
    if (has_place) gpus_ = std::max(gpus_, static_cast<std::size_t>(index) + 1);
  }
  return rows;
}

NodeTelemetry::Rows NodeTelemetry::rows_of_nics(const WindowRecord& window) {
  Rows rows;
  rows.reserve(window.nics.size());
  for (const std::string& name : window.nics) {
    auto row = nic_row(name);
    if (!row && nics_.size() < kMaxRows) {
      row = nics_.size();
      nics_.push_back(name);
    }
    rows.push_back(row.value_or(kMaxRows));
  }
  return rows;
}

std::size_t NodeTelemetry::process_row_or_new(const ProcessKey& key) {
  if (key.job.empty()) return kMaxRows;
  if (const auto row = process_row(key.job, key.rank)) return *row;
  const auto free = std::ranges::find_if(processes_, [](const ProcessKey& held) { return held.job.empty(); });
  if (free != processes_.end()) {
    *free = key;
    return static_cast<std::size_t>(free - processes_.begin());
  }
  if (processes_.size() >= kMaxRows) return kMaxRows;
  processes_.push_back(key);
  return processes_.size() - 1;
}

NodeTelemetry::Rows NodeTelemetry::rows_of_processes(const WindowRecord& window) {
  Rows rows;
  rows.reserve(window.processes.size());
  for (const ProcessKey& key : window.processes)
    rows.push_back(process_row_or_new(key));
  return rows;
}

void NodeTelemetry::store(Metric metric, std::size_t row, std::int64_t slot_number, float value) {
  std::vector<float>& column = columns_[static_cast<std::size_t>(metric)];
  if (column.size() < (row + 1) * kSlots) column.resize((row + 1) * kSlots, kMissing);
  float& held = column[row * kSlots + place_of(slot_number)];
  const int windows = slots_[place_of(slot_number)].windows;
  if (std::isnan(held)) {
    held = value;
  } else if (info(metric).kind == ValueKind::count) {
    held += value;
  } else {
    held += (value - held) / static_cast<float>(windows);
  }
}

bool NodeTelemetry::add(const WindowRecord& window) {
  const std::int64_t number = slot_of(window.time);
  if (number < 0) return false;
  if (slots_[place_of(number)].number > number) return false;
  Slot& slot = open_slot(number);
  ++slot.windows;
  slot.covered += window.length;
  const std::array<Rows, kTables> rows{rows_of_gpus(window), rows_of_processes(window), rows_of_nics(window),
                                       Rows{0}};
  for (const Column& column : window.columns) {
    const Rows& places = rows[static_cast<std::size_t>(info(column.metric).table)];
    const std::size_t known = std::min(places.size(), column.values.size());
    for (std::size_t position = 0; position < known; ++position)
      if (places[position] < kMaxRows && std::isfinite(column.values[position]))
        store(column.metric, places[position], number, column.values[position]);
  }
  return true;
}

float NodeTelemetry::value(Metric metric, std::size_t row, std::int64_t slot_number) const {
  const std::vector<float>& column = columns_[static_cast<std::size_t>(metric)];
  if (slot(slot_number) == nullptr || column.size() < (row + 1) * kSlots) return kMissing;
  return column[row * kSlots + place_of(slot_number)];
}

float NodeTelemetry::over_minute(Metric metric, std::size_t row, WallTime end) const {
  const std::int64_t last = slot_of(end);
  const std::int64_t slots = kMinute / kSlot;
  std::array<float, kMinute / kSlot> values{};
  std::size_t known = 0;
  for (std::int64_t number = last - slots + 1; number <= last; ++number) {
    const float held = value(metric, row, number);
    if (!std::isnan(held)) values[known++] = held;
  }
  if (known == 0) return kMissing;
  const auto end_of_known = values.begin() + static_cast<std::ptrdiff_t>(known);
  if (info(metric).kind == ValueKind::count) {
    float sum = 0;
    for (auto each = values.begin(); each != end_of_known; ++each)
      sum += *each;
    return sum;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(known / 2);
  std::nth_element(values.begin(), middle, end_of_known);
  if (known % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

float NodeTelemetry::latest(Metric metric, std::size_t row, WallTime now) const {
  const std::int64_t last = slot_of(now);
  for (std::int64_t number = last; number > last - 3; --number) {
    const float held = value(metric, row, number);
    if (!std::isnan(held)) return held;
  }
  return kMissing;
}

Duration NodeTelemetry::covered(WallTime end) const {
  const std::int64_t last = slot_of(end);
  Duration sum{};
  for (std::int64_t number = last - kMinute / kSlot + 1; number <= last; ++number)
    if (const Slot* held = slot(number)) sum += held->covered;
  return std::min(sum, kMinute);
}

}  // namespace autopilot::jobs
