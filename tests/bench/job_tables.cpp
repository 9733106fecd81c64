// SPDX-License-Identifier: Apache-2.0
#include "job_tables.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <variant>

namespace autopilot::jobs::bench {
namespace {

constexpr Duration kWindow = std::chrono::seconds(10);

float mean_of(const std::vector<float>& values) {
  float sum = 0;
  float count = 0;
  for (const float value : values)
    if (!std::isnan(value)) {
      sum += value;
      ++count;
    }
  return count > 0 ? sum / count : kMissing;
}

std::vector<float> by_index(const WindowRecord& record, const Column& column) {
  if (info(column.metric).table != Table::gpu) return column.values;
  std::vector<float> values;
  for (std::size_t row = 0; row < record.gpus.size() && row < column.values.size(); ++row) {
    const auto index = static_cast<std::size_t>(record.gpus[row]);
    if (values.size() <= index) values.resize(index + 1, kMissing);
    values[index] = column.values[row];
  }
  return values;
}

}  // namespace

void JobTables::add(const Record& record) {
  std::visit([this](const auto& held) { note(held); }, record);
}

void JobTables::note(const JobRecord& record) {
  Job& job = jobs_[record.job];
  if (job.attempt != record.attempt) job.last_step.reset();
  job.attempt = record.attempt;
  job.parts.clear();
  job.nodes.clear();
  for (const RankRecord& rank : record.ranks) {
    if (rank.gpu) job.parts.push_back({rank.node, *rank.gpu});
    job.nodes.push_back(rank.node);
  }
  std::ranges::sort(job.nodes);
  const auto rest = std::ranges::unique(job.nodes);
  job.nodes.erase(rest.begin(), rest.end());
}

void JobTables::note(const StepRecord& record) {
  const auto found = jobs_.find(record.job);
  if (found != jobs_.end()) found->second.last_step = record.time;
}

void JobTables::note(const WindowRecord& record) {
  if (metrics_.empty()) return;
  Sample sample{record.time, std::vector<std::vector<float>>(metrics_.size())};
  for (const Column& column : record.columns) {
    const std::size_t place = place_of(column.metric);
    if (place < metrics_.size()) sample.values[place] = by_index(record, column);
  }
  std::deque<Sample>& samples = nodes_[record.node];
  samples.push_back(std::move(sample));
  if (samples.size() > kWindows) samples.pop_front();
}

std::size_t JobTables::place_of(Metric metric) const {
  return static_cast<std::size_t>(std::ranges::find(metrics_, metric) - metrics_.begin());
}

float JobTables::mean(Metric metric, const Part& part, Duration length, WallTime now) const {
  const auto found = nodes_.find(part.node);
  if (found == nodes_.end()) return kMissing;
  const std::size_t place = place_of(metric);
  const auto index = static_cast<std::size_t>(part.gpu);
  float sum = 0;
  float count = 0;
  for (const Sample& sample : found->second) {
    // Clocks of nodes differ by up to 2 s.
    if (sample.time <= now - length + kWindow / 2) continue;
    const std::vector<float>& values = sample.values[place];
    if (index >= values.size() || std::isnan(values[index])) continue;
    sum += values[index];
    ++count;
  }
  return count > 0 ? sum / count : kMissing;
}

std::vector<float> JobTables::last(Metric metric, const std::string& node, WallTime now) const {
  std::vector<float> values;
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.size() < kWindows) return values;
  // A few windows may be missing.
  if (found->second.front().time < now - kWindow * (kWindows + 4)) return values;
  const std::size_t place = place_of(metric);
  for (const Sample& sample : found->second)
    values.push_back(mean_of(sample.values[place]));
  if (std::ranges::any_of(values, [](float value) { return std::isnan(value); })) values.clear();
  return values;
}

}  // namespace autopilot::jobs::bench
