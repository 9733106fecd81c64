// SPDX-License-Identifier: Apache-2.0
#include "jobs/work_rate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "jobs/detectors/series.hpp"
#include "jobs/job_context.hpp"

namespace autopilot::jobs {
namespace {

constexpr double kLeastTolerance = 0.03;  // logarithm
// Of the change from one minute to the next: three standard errors of the median of five minutes.
constexpr double kSigmasOfChange = 1.2;
// Less is the traffic of idle links, bytes/s.
constexpr float kLeastBytes = 1e6F;
constexpr float kLeastTensor = 0.005F;

void push_bounded(std::deque<double>& values, double value, std::size_t most) {
  values.push_back(value);
  if (values.size() > most) values.pop_front();
}

double middle_of(const std::deque<double>& values) {
  std::vector<double> copy(values.begin(), values.end());
  return series_median(copy).value_or(0);
}

double sigma_of(const std::deque<double>& values) {
  std::vector<double> copy(values.begin(), values.end());
  return series_sigma(copy, 0).value_or(0);
}

std::optional<double> log_median(std::vector<float>& values, float least) {
  const auto median = series_median(values);
  if (!median || *median < static_cast<double>(least)) return std::nullopt;
  return std::log(*median);
}

std::optional<double> rate_of_gpus(const JobContext& job, Metric metric, float least, WallTime end) {
  std::vector<float> values;
  for (const Member& member : job.members.members()) {
    const NodeTelemetry& telemetry = job.fleet.node(member.node).telemetry;
    if (const auto row = telemetry.gpu_row(member.gpu))
      values.push_back(telemetry.over_minute(metric, *row, end));
  }
  return log_median(values, least);
}

std::optional<double> rate_of_nics(const JobContext& job, WallTime end) {
  std::vector<float> values;
  for (const std::uint32_t number : job.members.nodes()) {
    const FleetNode& node = job.fleet.node(number);
    if (node.jobs.size() > 1) continue;  // traffic of other jobs as well
    for (std::size_t row = 0; row < node.telemetry.nics().size(); ++row)
      values.push_back(node.telemetry.over_minute(Metric::nic_tx_bytes_s, row, end));
  }
  return log_median(values, kLeastBytes);
}

}  // namespace

void WorkRate::start() {
  *this = WorkRate{};
}

std::optional<WorkRate::Rate> WorkRate::of_minute(const JobContext& job, WallTime end) {
  if (const auto rate = rate_of_gpus(job, Metric::gpu_nvlink_bytes_s, kLeastBytes, end))
    return Rate{Source::nvlink, *rate};
  if (const auto rate = rate_of_nics(job, end)) return Rate{Source::nics, *rate};
  if (const auto rate = rate_of_gpus(job, Metric::gpu_tensor, kLeastTensor, end))
    return Rate{Source::tensor, *rate};
  return std::nullopt;
}

bool WorkRate::lasts(Memory& memory, double work, double tolerance) {
  if (!memory.refuted.empty() && std::abs(work - middle_of(memory.refuted)) > tolerance)
    memory.refuted.clear();
  memory.refuted.push_back(work);
  return memory.refuted.size() >= kLasting;
}

void WorkRate::begin_anew(Source source) {
  const auto at = static_cast<std::size_t>(source);
  Memory kept = std::move(memories_[at]);
  start();
  kept.work = std::move(kept.refuted);
  kept.refuted.clear();
  memories_[at] = std::move(kept);
  has_begun_anew_ = true;
}

bool WorkRate::confirms(double log_period, const std::optional<Rate>& rate) {
  has_begun_anew_ = false;
  if (!rate) return true;
  Memory& memory = memories_[static_cast<std::size_t>(rate->source)];
  if (!memory.rates.empty()) push_bounded(memory.changes, rate->log_rate - memory.rates.back(), kRemembered);
  push_bounded(memory.rates, rate->log_rate, kNewest);
  if (memory.rates.size() < kNewest) return true;
  const double work = log_period + middle_of(memory.rates);
  if (memory.work.size() >= kLeastKnown) {
    const double tolerance = std::max(kLeastTolerance, kSigmasOfChange * sigma_of(memory.changes));
    if (std::abs(work - middle_of(memory.work)) > tolerance) {
      if (!lasts(memory, work, tolerance)) return false;
      begin_anew(rate->source);
      return true;
    }
  }
  memory.refuted.clear();
  push_bounded(memory.work, work, kRemembered);
  return true;
}

}  // namespace autopilot::jobs
