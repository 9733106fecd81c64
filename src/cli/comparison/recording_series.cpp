// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison/recording_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "core/parse.hpp"
#include "jobs/records.hpp"
#include "workloads/compare/clock_times.hpp"

namespace autopilot::cli {
namespace {

namespace cmp = workloads::compare;

struct RecordedMetric {
  jobs::Metric metric;
  std::string_view name;
  std::string_view unit;
  double factor;
};

constexpr double kToPercent = 100;
constexpr double kToMib = 1.0 / (1024.0 * 1024.0);
constexpr std::array<RecordedMetric, 12> kRecorded{{
    {jobs::Metric::gpu_util, "gpu.util", "%", kToPercent},
    {jobs::Metric::gpu_dram, "gpu.memory_busy", "%", kToPercent},
    {jobs::Metric::gpu_mem_bytes, "gpu.memory_used", "MiB", kToMib},
    {jobs::Metric::gpu_power_w, "gpu.power", "W", 1},
    {jobs::Metric::gpu_sm_clock_mhz, "gpu.sm_clock", "MHz", 1},
    {jobs::Metric::gpu_tensor, "gpu.tensor", "%", kToPercent},
    {jobs::Metric::nic_rx_bytes_s, "net.received", "B/s", 1},
    {jobs::Metric::nic_tx_bytes_s, "net.sent", "B/s", 1},
    {jobs::Metric::host_cpu, "cpu.busy", "%", kToPercent},
    {jobs::Metric::host_psi_io, "host.psi_io", "%", kToPercent},
    {jobs::Metric::host_storage_read_bytes_s, "io.read", "B/s", 1},
    {jobs::Metric::host_storage_write_bytes_s, "io.written", "B/s", 1},
}};

const RecordedMetric* recorded(jobs::Metric metric) {
  for (const RecordedMetric& known : kRecorded)
    if (known.metric == metric) return &known;
  return nullptr;
}

double epoch_seconds(WallTime time) {
  return to_seconds(time.time_since_epoch());
}

std::string subject_of_row(const jobs::WindowRecord& window, std::string_view metric, std::size_t row) {
  if (metric.starts_with("gpu.")) return window.node + " GPU " + std::to_string(window.gpus[row]);
  if (metric.starts_with("net.")) return window.node + " " + window.nics[row];
  return window.node;
}

// The first time after `time`, if it comes before `until`.
std::optional<double> next_time(const std::vector<double>& times, double time, double until) {
  std::optional<double> first;
  for (const double one : times)
    if (one >= time && one < until && (!first || one < *first)) first = one;
  return first;
}

}  // namespace

Status RecordingSeries::add_file(api::JobFile file, std::string_view text, const std::string& name) {
  std::size_t malformed = 0;
  cmp::TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (trim(line).empty()) continue;
    if (line.size() > api::longest_line(file)) {
      ++malformed;
      continue;
    }
    const auto parsed = api::parse_job_line(line, file);
    if (!parsed)
      ++malformed;
    else if (const auto* record = std::get_if<jobs::Record>(&*parsed))
      add_record(*record, lines.number(), name);
    if (is_full_)
      return fail(Errc::exhausted, name + ": more than " + std::to_string(cmp::kMaxValues) +
                                       " values or too many nodes; give a part of the recording");
  }
  if (malformed > 0)
    notes_.push_back(name + ": " + std::to_string(malformed) +
                     " lines are malformed and were left out; autopilot jobs replay names them");
  return {};
}

void RecordingSeries::add_record(const jobs::Record& record, int line, const std::string& name) {
  if (const auto* window = std::get_if<jobs::WindowRecord>(&record)) return add_window(*window, line, name);
  if (const auto* step = std::get_if<jobs::StepRecord>(&record)) return add_step(*step, line, name);
  const auto* start = std::get_if<jobs::JobRecord>(&record);
  const auto* end = std::get_if<jobs::JobEndRecord>(&record);
  if (start == nullptr && end == nullptr) return;
  JobTimes& job = jobs_[start != nullptr ? start->job : end->job];
  if (job.source.file.empty()) job.source = {name, line, line, 0, {}};
  if (start != nullptr)
    job.starts.push_back(epoch_seconds(start->time));
  else
    job.ends.push_back(epoch_seconds(end->time));
}

void RecordingSeries::add_window(const jobs::WindowRecord& window, int line, const std::string& name) {
  for (const jobs::Column& column : window.columns) {
    const RecordedMetric* known = recorded(column.metric);
    if (known == nullptr) continue;
    for (std::size_t row = 0; row < column.values.size(); ++row)
      if (std::isfinite(column.values[row]))
        add_value(std::string(known->name), subject_of_row(window, known->name, row),
                  std::string(known->unit), epoch_seconds(window.time), column.values[row] * known->factor,
                  {name, line, line, 0, std::string(known->name)});
  }
}

// Of one rank: all ranks of a job report the same steps.
void RecordingSeries::add_step(const jobs::StepRecord& step, int line, const std::string& name) {
  const int rank = step.rank.value_or(0);
  if (first_rank_.try_emplace(step.job, rank).first->second != rank) return;
  const double time = epoch_seconds(step.time);
  jobs_[step.job].steps.push_back(time);
  if (step.step_s)
    add_value("job.step_time", step.job, "s", time, *step.step_s, {name, line, line, 0, "step_s"});
  if (step.tokens)
    add_value("job.tokens", step.job, "tokens", time, *step.tokens, {name, line, line, 0, "tokens"});
}

void RecordingSeries::add_value(const std::string& metric, const std::string& subject,
                                const std::string& unit, double time_s, double value,
                                const cmp::Source& source) {
  auto known = series_.find({metric, subject});
  is_full_ = is_full_ || ++count_ > cmp::kMaxValues ||
             (known == series_.end() && series_.size() >= cmp::kMaxColumns * 4);
  if (is_full_) return;
  if (known == series_.end()) {
    known = series_.emplace(std::pair(metric, subject), Collected{}).first;
    cmp::Series& series = known->second.series;
    series.metric = metric;
    series.subject = subject;
    series.unit = unit;
    series.source = source;
  }
  known->second.series.source.last_line = source.last_line;
  known->second.series.values.push_back(value);
  known->second.times.push_back(time_s);
}

void RecordingSeries::add_times(cmp::Readings& readings) const {
  const auto most = std::max_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
    return a.second.steps.size() < b.second.steps.size();
  });
  if (most == jobs_.end() || most->second.steps.empty() || most->second.starts.empty()) return;
  JobTimes job = most->second;
  std::sort(job.starts.begin(), job.starts.end());
  const double end_of_time = std::numeric_limits<double>::max();
  const double until = job.starts.size() > 1 ? job.starts[1] : end_of_time;
  if (const auto first = next_time(job.steps, job.starts[0], until))
    readings.measures.push_back(
        {"elasticity.start", most->first, "s", *first - job.starts[0], std::nullopt, job.source});
  if (job.starts.size() < 2) return;
  // From the last step before the second start to the first one after it.
  double last = job.starts[0];
  for (const double step : job.steps)
    if (step < job.starts[1]) last = std::max(last, step);
  if (const auto first = next_time(job.steps, job.starts[1], end_of_time))
    readings.measures.push_back(
        {"elasticity.recover", most->first, "s", *first - last, std::nullopt, job.source});
}

cmp::Readings RecordingSeries::take() {
  cmp::Readings readings;
  for (auto& [key, collected] : series_) {
    const auto placed = cmp::place_times(collected.times, false);
    collected.series.seconds = placed.seconds;
    collected.series.interval_s = placed.interval_s;
    collected.series.gaps = placed.gaps;
    readings.series.push_back(std::move(collected.series));
  }
  add_times(readings);
  readings.notes = std::move(notes_);
  series_.clear();
  return readings;
}

}  // namespace autopilot::cli
