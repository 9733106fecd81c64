// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/evidence_texts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/parse.hpp"

namespace autopilot::agent {
namespace {

constexpr std::size_t kLongestKernelLine = 1024;

std::string number_text(float value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", static_cast<double>(value));
  return text.data();
}

// Empty: nothing of the row was measured.
std::string row_text(const jobs::WindowRecord& window, jobs::Table table, std::size_t row) {
  std::string text;
  for (const jobs::Column& column : window.columns) {
    const jobs::MetricInfo& known = jobs::info(column.metric);
    if (known.table != table || row >= column.values.size() || std::isnan(column.values[row])) continue;
    text += (text.empty() ? "" : ", ") + std::string(known.name) + " " + number_text(column.values[row]);
  }
  return text;
}

}  // namespace

std::string window_text(const jobs::WindowRecord& window) {
  std::string text = "node " + window.node + ", " +
                     number_text(static_cast<float>(to_seconds(window.length))) + " s until " +
                     format_time(window.time) + "\n";
  const auto add = [&](const std::string& name, jobs::Table table, std::size_t row) {
    const std::string values = row_text(window, table, row);
    if (!values.empty()) text += name + ": " + values + "\n";
  };
  for (std::size_t i = 0; i < window.gpus.size(); ++i)
    add("GPU " + std::to_string(window.gpus[i]), jobs::Table::gpu, i);
  for (std::size_t i = 0; i < window.processes.size(); ++i)
    add("rank " + std::to_string(window.processes[i].rank) + " of " + window.processes[i].job,
        jobs::Table::process, i);
  for (std::size_t i = 0; i < window.nics.size(); ++i)
    add(window.nics[i], jobs::Table::nic, i);
  add("host", jobs::Table::host, 0);
  return text;
}

std::string kernel_log_text(const host::KernelRecords& log) {
  std::string text;
  const std::size_t count = std::min(log.records.size(), kMostKernelLines);
  for (auto record = log.records.end() - static_cast<std::ptrdiff_t>(count); record != log.records.end();
       ++record)
    text += format_time(record->time.wall) + " <" + std::to_string(record->priority) + "> " +
            to_printable(record->text, kLongestKernelLine) + "\n";
  return text;
}

}  // namespace autopilot::agent
