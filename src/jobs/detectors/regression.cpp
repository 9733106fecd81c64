// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/regression.hpp"

#include <algorithm>
#include <cmath>

#include "jobs/detectors/series.hpp"

namespace autopilot::jobs {
namespace {

constexpr double kLeastSigma = 0.002;  // equal step times: 0.2 %
constexpr double kLeastEarlySigma = 0.005;
constexpr double kMaxRho = 0.9;       // reference 2a.4
constexpr double kClip = 4;           // sigma: one minute alone does not alarm
constexpr double kLevelPace = 0.001;  // reference 2a.4
constexpr double kVerifiedPart =
    0.8;  // of least_change: the median of a change of 5 % is below 5 % half of the time
constexpr double kEarlyScore = 6;  // standard errors
constexpr double kEarlyRho = 0.5;  // assumed until it can be estimated
constexpr std::size_t kLeastBefore = 10;
// Few values are enough before a change that no start of a job explains: jobs get faster as they warm up.
constexpr std::size_t kFewBefore = 3;
constexpr double kLargeChange = 0.5;
constexpr std::size_t kLeastAfter = 5;
constexpr std::size_t kEnoughAfter = 10;  // reference 2a.4
constexpr std::size_t kRecentValues = 10;
constexpr std::size_t kCheckFaster = 30;
constexpr std::size_t kMaxPending = 120;  // a change that small for that long is the new level
constexpr double kMedianError = 1.2533;   // standard error of a median, times sigma / sqrt(n)
constexpr Duration kMinute = std::chrono::minutes(1);
constexpr Duration kNeighbour = std::chrono::seconds(90);

double inflation_of(double rho) {
  return std::sqrt((1 + rho) / (1 - rho));
}

double normal_probability(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

double median_or(std::vector<double> values, double otherwise) {
  return series_median(values).value_or(otherwise);
}

// Slope of y by x: the median of the slopes of all pairs. nullopt if x does not vary.
std::optional<double> median_slope(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> slopes;
  slopes.reserve(x.size() * x.size() / 2);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = i + 1; j < x.size(); ++j)
      if (std::abs(x[i] - x[j]) > 1e-3) slopes.push_back((y[i] - y[j]) / (x[i] - x[j]));
  if (slopes.size() < x.size()) return std::nullopt;
  return series_median(slopes);
}

}  // namespace

// False if the point cannot be compared with the others: its work is unknown.
bool RegressionDetector::adjust(Point& point) const {
  if (!slope_) return true;
  if (!std::isfinite(point.work)) return false;
  point.value -= *slope_ * (point.work - usual_work_);
  return true;
}

double RegressionDetector::error_of(std::size_t count) const {
  return kMedianError * model_.sigma * inflation_of(model_.rho) /
         std::sqrt(static_cast<double>(std::max<std::size_t>(count, 1)));
}

// What the neighbour does not predict, in its sigma.
double RegressionDetector::standardised(const Point& point) const {
  const double distance = point.value - model_.level;
  if (!last_ || point.time - last_->time > kNeighbour)
    return std::clamp(distance / model_.sigma, -kClip, kClip);
  const double predicted = model_.rho * (last_->value - model_.level);
  return std::clamp((distance - predicted) / model_.sigma_white, -kClip, kClip);
}

void RegressionDetector::add(const MinuteOfSteps& minute) {
  if (minute.is_left_out || !std::isfinite(minute.log_time) || std::abs(minute.log_time) > 50) return;
  if (last_ && minute.time <= last_->time) return;
  Point point{minute.time, minute.log_time, minute.log_work.value_or(std::nan(""))};
  if (is_ready_ && !adjust(point)) return;
  if (present_) {
    if (!is_ready_ && !adjust(point)) return;
    follow(point);
  } else if (is_ready_) {
    watch(point);
  } else {
    collect(point);
  }
  last_ = point;
}

void RegressionDetector::interrupt() {
  pending_.clear();
  cusum_ = 0;
}

// The first values: a baseline, or a large change within it.
void RegressionDetector::collect(const Point& point) {
  clean_.push_back(point);
  const bool is_complete = clean_.size() >= kBaseline;
  if (clean_.size() < kEarly) return;
  fit_work();
  const auto split = best_split(is_complete ? options_.least_change : options_.early_change);
  if (split) {
    RegressionFinding finding;
    finding.onset = clean_[split->first_after].time - kMinute;
    finding.detected = point.time;
    finding.before_s = split->before;
    finding.is_early = true;
    std::vector<double> after;
    for (std::size_t i = split->first_after; i < clean_.size(); ++i) {
      Point held = clean_[i];
      if (adjust(held)) after.push_back(held.value);
    }
    clean_.resize(split->first_after);
    fit();
    raise(finding, std::move(after));
  } else if (is_complete) {
    std::erase_if(clean_, [this](Point& held) { return !adjust(held); });
    learned_ = clean_.size();
    is_ready_ = true;
    fit();
  }
}

// How step time depends on the size of the batch, if it does.
void RegressionDetector::fit_work() {
  slope_ = std::nullopt;
  std::vector<double> work;
  std::vector<double> time;
  for (const Point& point : clean_) {
    if (!std::isfinite(point.work)) continue;
    work.push_back(point.work);
    time.push_back(point.value);
  }
  if (work.size() < kEarly || work.size() * 4 < clean_.size() * 3) return;
  const std::optional<double> slope = median_slope(work, time);
  if (!slope || *slope <= 0 || *slope > 3) return;
  const double usual = median_or(work, 0);
  std::vector<double> raw = time;
  const double raw_sigma = series_sigma(raw, median_or(time, 0)).value_or(0);
  std::vector<double> rest;
  for (std::size_t i = 0; i < work.size(); ++i)
    rest.push_back(time[i] - *slope * (work[i] - usual));
  const double level = median_or(rest, 0);
  if (series_sigma(rest, level).value_or(0) > 0.9 * raw_sigma) return;
  slope_ = slope;
  usual_work_ = usual;
}

// Where the values differ most, if the step time grew by least_change.
std::optional<RegressionDetector::Split> RegressionDetector::best_split(double least_change) const {
  std::vector<double> values;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < clean_.size(); ++i) {
    Point point = clean_[i];
    if (!adjust(point)) continue;
    values.push_back(point.value);
    places.push_back(i);
  }
  std::optional<Split> best;
  std::vector<double> part;
  std::vector<double> rest;
  for (std::size_t cut = kFewBefore; cut + kLeastAfter <= values.size(); ++cut) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(cut);
    part.assign(values.begin(), middle);
    const double before = *series_median(part);
    part.assign(middle, values.end());
    const double after = *series_median(part);
    if (after - before < std::log1p(cut < kLeastBefore ? kLargeChange : least_change)) continue;
    rest.clear();
    for (std::size_t i = 0; i < values.size(); ++i)
      rest.push_back(values[i] - (i < cut ? before : after));
    const double sigma = std::max(series_sigma(rest, 0).value_or(0), kLeastEarlySigma);
    const double shares = 1.0 / static_cast<double>(cut) + 1.0 / static_cast<double>(values.size() - cut);
    const double score =
        (after - before) / (kMedianError * sigma * inflation_of(kEarlyRho) * std::sqrt(shares));
    if (score >= kEarlyScore && (!best || score > best->score))
      best = Split{places[cut], before, after, score};
  }
  if (!best) return std::nullopt;
  // It lasts: none of the newest values is back.
  for (std::size_t i = values.size() - kLeastAfter; i < values.size(); ++i)
    if (values[i] < (best->before + best->after) / 2) return std::nullopt;
  return best;
}

void RegressionDetector::fit() {
  std::vector<double> values;
  for (const Point& point : clean_)
    values.push_back(point.value);
  model_.level = median_or(values, 0);
  model_.sigma = std::max(series_sigma(values, model_.level).value_or(0), kLeastSigma);
  double products = 0;
  double squares = 0;
  const auto scaled = [this](const Point& point) {
    return std::clamp((point.value - model_.level) / model_.sigma, -2.5, 2.5);
  };
  for (std::size_t i = 1; i < clean_.size(); ++i) {
    if (clean_[i].time - clean_[i - 1].time > kNeighbour) continue;
    products += scaled(clean_[i]) * scaled(clean_[i - 1]);
    squares += (scaled(clean_[i]) * scaled(clean_[i]) + scaled(clean_[i - 1]) * scaled(clean_[i - 1])) / 2;
  }
  model_.rho = squares > 0 ? products / squares : 0;
  // The estimate of a short series is too low by (1 + 3 rho) / n, and uncertain: one standard error more.
  const auto count = static_cast<double>(std::max<std::size_t>(clean_.size(), 1));
  model_.rho = std::clamp(model_.rho + (1 + 3 * model_.rho) / count, -1.0, 1.0);
  model_.rho += std::sqrt((1 - model_.rho * model_.rho) / count);
  model_.rho = options_.uses_whitening ? std::clamp(model_.rho, 0.0, kMaxRho) : 0;
  std::vector<double> white;
  for (std::size_t i = 1; i < clean_.size(); ++i)
    white.push_back(clean_[i].value - model_.level - model_.rho * (clean_[i - 1].value - model_.level));
  model_.sigma_white =
      std::max(series_sigma(white, 0).value_or(0), model_.sigma * std::sqrt(1 - model_.rho * model_.rho));
}

// Takes a value into the baseline. The model is fitted again at 120 and 240 values, then its level follows
// slowly; a job that became faster for an hour has a new baseline.
void RegressionDetector::learn(const Point& point) {
  clean_.push_back(point);
  if (clean_.size() > kMaxValues) clean_.pop_front();
  ++learned_;
  const double faster = std::max(std::log1p(options_.least_change), 4 * error_of(kBaseline));
  if (learned_ % kCheckFaster == 0 && clean_.size() >= kBaseline &&
      median_of_newest() < model_.level - faster) {
    clean_.erase(clean_.begin(), clean_.end() - kBaseline);
    learned_ = kBaseline;
    fit();
  } else if (learned_ == 2 * kBaseline || learned_ == kMaxValues) {
    fit();
  } else if (learned_ > kMaxValues) {
    model_.level += kLevelPace * std::clamp(point.value - model_.level, -3 * model_.sigma, 3 * model_.sigma);
  }
}

// Of the newest kBaseline values.
double RegressionDetector::median_of_newest() const {
  std::vector<double> newest;
  for (std::size_t i = clean_.size() - std::min(clean_.size(), kBaseline); i < clean_.size(); ++i)
    newest.push_back(clean_[i].value);
  return median_or(std::move(newest), model_.level);
}

void RegressionDetector::learn_pending() {
  for (const Point& point : pending_)
    learn(point);
  pending_.clear();
  cusum_ = 0;
}

void RegressionDetector::watch(const Point& point) {
  // The level is known to one standard error only; without this margin a false alarm is 10 times as frequent.
  const double margin = error_of(std::min(learned_, kMaxValues)) * (1 - model_.rho) / model_.sigma_white;
  cusum_ = std::max(0.0, cusum_ + standardised(point) - margin - options_.k);
  cusum_ = std::min(cusum_, 2 * options_.h);
  pending_.push_back(point);
  if (cusum_ == 0) {
    learn_pending();
  } else if (cusum_ >= options_.h) {
    verify(point.time);
  }
  if (pending_.size() >= kMaxPending) learn_pending();
}

// The CUSUM alarms: finds the time of the change and compares medians.
void RegressionDetector::verify(WallTime now) {
  const double level = median_of_newest();
  std::vector<double> newest;
  for (std::size_t i = pending_.size() - std::min(pending_.size(), kLeastAfter); i < pending_.size(); ++i)
    newest.push_back(pending_[i].value);
  const double half = (level + median_or(newest, level)) / 2;
  double sum = 0;
  double most = 0;
  std::size_t first = pending_.size();
  for (std::size_t i = pending_.size(); i-- > 0;) {
    sum += std::clamp(pending_[i].value - half, -kClip * model_.sigma, kClip * model_.sigma);
    if (sum > most) {
      most = sum;
      first = i;
    }
  }
  if (pending_.size() - first < kLeastAfter) return;
  const WallTime onset = pending_[first].time - kMinute;
  if (now - onset < options_.least_length) return;
  std::vector<double> after;
  for (std::size_t i = first; i < pending_.size(); ++i)
    after.push_back(pending_[i].value);
  const double change = median_or(after, level) - level;
  const bool is_enough = after.size() >= kEnoughAfter;
  const double doubt = is_enough ? 0 : 3 * error_of(after.size());
  if (change - doubt < std::log1p(kVerifiedPart * options_.least_change)) return;
  RegressionFinding finding;
  finding.onset = onset;
  finding.detected = now;
  finding.before_s = level;
  raise(finding, std::move(after));
}

// `finding.before_s` is a logarithm until here.
void RegressionDetector::raise(RegressionFinding finding, std::vector<double> after) {
  before_ = finding.before_s;
  largest_ = 0;
  recent_.assign(after.end() - static_cast<std::ptrdiff_t>(std::min(after.size(), kRecentValues)),
                 after.end());
  const double level = median_or(after, before_);
  largest_ = level - before_;
  finding.before_s = std::exp(before_);
  finding.after_s = std::exp(level);
  finding.goodput_loss = 1 - std::exp(-largest_);
  const double half = std::log1p(options_.least_change / 2);
  finding.confidence =
      std::min(0.99, normal_probability((largest_ - half) / std::max(error_of(after.size()), 1e-6)));
  present_ = finding;
  present_->updated = finding.detected;
  pending_.clear();
  cusum_ = 0;
}

void RegressionDetector::follow(const Point& point) {
  present_->updated = point.time;
  recent_.push_back(point.value);
  if (recent_.size() > kRecentValues) recent_.pop_front();
  const double level = median_or({recent_.begin(), recent_.end()}, before_);
  largest_ = std::max(largest_, level - before_);
  present_->after_s = std::exp(level);
  present_->goodput_loss = std::max(0.0, 1 - std::exp(before_ - level));
  if (recent_.size() < kLeastAfter) return;
  const double newest = median_or({recent_.end() - kLeastAfter, recent_.end()}, level);
  if (newest > before_ + largest_ / 2) return;
  ended_ = point.time;
  present_ = std::nullopt;
  recent_.clear();
}

std::optional<double> RegressionDetector::baseline_s() const {
  if (!is_ready_) return std::nullopt;
  return std::exp(model_.level);
}

}  // namespace autopilot::jobs
