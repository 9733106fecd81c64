// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/side.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::workloads::compare {
namespace {

// Samplers that are started one after the other differ by a few readings.
constexpr double kRowsTolerance = 0.02;
constexpr int kMostGpusOfMachine = 64;

const Series* same_rows(const Side& side, const Series& series, std::string_view metric) {
  for (const Series& other : side.series)
    if (other.metric == metric && other.subject == series.subject &&
        other.source.file == series.source.file && other.values.size() == series.values.size())
      return &other;
  return nullptr;
}

Series derived(const Series& from, std::string metric, std::string name) {
  Series made = from;
  made.metric = std::move(metric);
  made.source.name = std::move(name);
  return made;
}

void add_derived(Side& side) {
  std::vector<Series> made;
  for (const Series& series : side.series) {
    if (series.metric == "cpu.idle") {
      Series busy = derived(series, "cpu.busy", "100 - " + series.source.name);
      for (double& value : busy.values)
        value = 100 - value;
      made.push_back(std::move(busy));
    }
    if (series.metric != "mem.free") continue;
    const Series* used = same_rows(side, series, "mem.used");
    if (used == nullptr) continue;
    Series total = derived(series, "mem.total", series.source.name + " + " + used->source.name);
    for (std::size_t i = 0; i < total.values.size(); ++i)
      total.values[i] += used->values[i];
    made.push_back(std::move(total));
  }
  for (Series& series : made)
    side.series.push_back(std::move(series));
}

}  // namespace

void add_readings(Side& side, Readings readings, const std::string& file) {
  for (Series& series : readings.series)
    side.series.push_back(std::move(series));
  for (Measure& measure : readings.measures)
    side.measures.push_back(std::move(measure));
  for (std::string& note : readings.notes)
    side.notes.push_back(std::move(note));
  side.files.push_back(file);
}

std::optional<int> gpus_of_rows(const Side& side, std::size_t rows) {
  if (side.facts.sampled_gpus) return side.facts.sampled_gpus;
  for (const Series& series : side.series) {
    if (series.values.empty() || (!series.metric.starts_with("cpu.") && !series.metric.starts_with("mem.")))
      continue;
    const double ratio = static_cast<double>(rows) / static_cast<double>(series.values.size());
    const double nearest = std::round(ratio);
    if (nearest >= 1 && nearest <= kMostGpusOfMachine &&
        std::abs(ratio - nearest) <= kRowsTolerance * nearest)
      return static_cast<int>(nearest);
  }
  return std::nullopt;
}

std::optional<double> interval_of(const Side& side) {
  if (side.facts.sample_interval_s) return side.facts.sample_interval_s;
  for (const Series& series : side.series)
    if (series.interval_s && !series.has_assumed_times) return series.interval_s;
  return std::nullopt;
}

void complete(Side& side) {
  if (const auto interval = interval_of(side))
    for (Series& series : side.series)
      if (series.seconds.empty()) assume_times(series, *interval);
  std::vector<std::string> noted;
  for (const Series& series : side.series) {
    const std::string& file = series.source.file;
    if (std::find(noted.begin(), noted.end(), file) != noted.end()) continue;
    if (series.seconds.empty() && series.values.size() > 1)
      side.notes.push_back(file + ": no times; state sample_interval in facts.yaml to get durations");
    else if (series.has_assumed_times)
      side.notes.push_back(file + ": no times; its rows count as " + number_text(*series.interval_s) +
                           " s apart");
    else
      continue;
    noted.push_back(file);
  }
  add_derived(side);
}

std::vector<const Series*> series_of(const Side& side, std::string_view metric) {
  std::vector<const Series*> found;
  for (const Series& series : side.series)
    if (series.metric == metric) found.push_back(&series);
  return found;
}

const Series* main_series(const Side& side, std::string_view metric, std::string_view subject) {
  const Series* found = nullptr;
  for (const Series& series : side.series)
    if (series.metric == metric && series.subject == subject &&
        (found == nullptr || series.values.size() > found->values.size()))
      found = &series;
  return found;
}

std::vector<const Series*> gpus_of(const Side& side) {
  std::vector<const Series*> gpus;
  for (const Series* series : series_of(side, "gpu.util")) {
    const auto known = std::find_if(gpus.begin(), gpus.end(),
                                    [series](const Series* gpu) { return gpu->subject == series->subject; });
    if (known == gpus.end())
      gpus.push_back(series);
    else if (series->values.size() > (*known)->values.size())
      *known = series;
  }
  return gpus;
}

std::vector<const Series*> used_gpus_of(const Side& side) {
  auto gpus = gpus_of(side);
  std::erase_if(gpus, [](const Series* gpu) { return statistics_of(gpu->values)->mean < kUsed_percent; });
  return gpus;
}

std::optional<int> contradicted_gpus(const Side& side) {
  const std::size_t used = used_gpus_of(side).size();
  for (const auto& stated : {side.facts.gpus, side.facts.gpus_allocated})
    if (stated && static_cast<std::size_t>(*stated) < used) return stated;
  return std::nullopt;
}

std::optional<double> duration_of(const Side& side) {
  std::optional<double> longest;
  for (const Series& series : side.series)
    if (const auto span = span_of(series); span && (!longest || *span > *longest)) longest = span;
  return longest;
}

}  // namespace autopilot::workloads::compare
