// SPDX-License-Identifier: Apache-2.0
#include "job_baselines.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "job_tables.hpp"

namespace autopilot::jobs::bench {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::array kSpeeds{Metric::gpu_sm_clock_mhz, Metric::gpu_tensor};

// What a rule says at one moment.
struct Claim {
  std::string job;
  Effect effect = Effect::slow;
  Entity culprit;
  friend auto operator<=>(const Claim&, const Claim&) = default;
};

// Turns the claims of a rule into findings that are raised and resolved.
class Baseline : public Method {
 public:
  Baseline(std::vector<Metric> metrics, Duration period) : tables_(std::move(metrics)), period_(period) {}

  void add(const Record& record) final { tables_.add(record); }

  void advance(WallTime now) final {
    if (next_ && now < *next_) return;
    next_ = now + period_;
    std::vector<Claim> claims;
    for (const auto& [name, job] : tables_.jobs())
      judge(name, job, now, claims);
    std::map<Claim, JobFinding> still_open;
    for (const Claim& claim : claims) {
      const auto found = open_.find(claim);
      if (found != open_.end())
        still_open.insert(open_.extract(found));
      else if (!still_open.contains(claim))
        changed_.push_back(still_open.emplace(claim, raise(claim, now)).first->second);
    }
    for (auto& [claim, finding] : open_) {
      finding.resolved = now;
      changed_.push_back(finding);
    }
    open_ = std::move(still_open);
  }

  std::vector<JobFinding> take() final { return std::exchange(changed_, {}); }

 protected:
  virtual void judge(const std::string& name, const JobTables::Job& job, WallTime now,
                     std::vector<Claim>& claims) = 0;
  [[nodiscard]] const JobTables& tables() const { return tables_; }

 private:
  static JobFinding raise(const Claim& claim, WallTime now) {
    JobFinding finding;
    finding.job = claim.job;
    finding.effect = claim.effect;
    finding.culprit = claim.culprit;
    finding.severity = Severity::ticket;
    finding.probability = 1;
    finding.onset = finding.detected = now;
    finding.id = claim.job + "/" + std::string(to_string(claim.effect)) + "/" + to_string(claim.culprit) +
                 "/" + std::to_string(now.time_since_epoch().count());
    return finding;
  }

  JobTables tables_;
  Duration period_;
  std::optional<WallTime> next_;
  std::map<Claim, JobFinding> open_;
  std::vector<JobFinding> changed_;
};

Entity gpu_of(const JobTables::Part& part) {
  return {EntityKind::gpu, part.node, part.gpu, {}};
}

class Watchdog final : public Baseline {
 public:
  Watchdog() : Baseline({}, seconds(10)) {}

 private:
  void judge(const std::string& name, const JobTables::Job& job, WallTime now,
             std::vector<Claim>& claims) override {
    if (job.last_step && now - *job.last_step >= minutes(10)) claims.push_back({name, Effect::hang, {}});
  }
};

// The GPUs of a job whose value a rule refuses; `find` gives the limits of one metric.
class PeerRule : public Baseline {
 public:
  // `more`: metrics that applies() looks at.
  PeerRule(std::vector<Metric> metrics, Duration length, const std::vector<Metric>& more = {})
      : Baseline(both(metrics, more), length), metrics_(std::move(metrics)), length_(length) {}

 protected:
  struct Limits {
    float low = 0, high = 0;  // what is below or above is a culprit
  };
  // False: nothing is compared now.
  [[nodiscard]] virtual bool applies(const JobTables::Job&, WallTime) const { return true; }
  // At least three values.
  [[nodiscard]] virtual std::optional<Limits> limits(std::vector<float>& values) const = 0;

 private:
  static std::vector<Metric> both(std::vector<Metric> metrics, const std::vector<Metric>& more) {
    metrics.insert(metrics.end(), more.begin(), more.end());
    return metrics;
  }

  void judge(const std::string& name, const JobTables::Job& job, WallTime now,
             std::vector<Claim>& claims) override {
    if (!applies(job, now)) return;
    for (const Metric metric : metrics_) {
      std::vector<float> all;
      std::vector<float> known;
      for (const JobTables::Part& part : job.parts) {
        all.push_back(tables().mean(metric, part, length_, now));
        if (!std::isnan(all.back())) known.push_back(all.back());
      }
      if (known.size() < 3) continue;
      const auto found = limits(known);
      if (!found) continue;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] < found->low || all[i] > found->high)
          claims.push_back({name, Effect::slow, gpu_of(job.parts[i])});
    }
  }

  std::vector<Metric> metrics_;
  Duration length_;
};

struct Moments {
  double mean = 0, deviation = 0;
};

template <class T>
Moments moments_of(const std::vector<T>& values) {
  double sum = 0;
  double squares = 0;
  for (const T value : values)
    sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(values.size());
  for (const T value : values)
    squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  return {mean, std::sqrt(squares / static_cast<double>(values.size()))};
}

class ThreeSigma final : public PeerRule {
 public:
  ThreeSigma() : PeerRule({kSpeeds.begin(), kSpeeds.end()}, minutes(1)) {}

 private:
  std::optional<Limits> limits(std::vector<float>& values) const override {
    const Moments moments = moments_of(values);
    if (moments.deviation <= 0) return std::nullopt;
    return Limits{static_cast<float>(moments.mean - 3 * moments.deviation),
                  static_cast<float>(moments.mean + 3 * moments.deviation)};
  }
};

float median_of(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

class SingleMad final : public PeerRule {
 public:
  SingleMad() : PeerRule({kSpeeds.begin(), kSpeeds.end()}, seconds(10)) {}

 private:
  std::optional<Limits> limits(std::vector<float>& values) const override {
    const float median = median_of(values);
    for (float& value : values)
      value = std::abs(value - median);
    const float scaled = 1.4826F * median_of(values);
    if (scaled <= 0) return std::nullopt;
    return Limits{median - 3.5F * scaled, median + 3.5F * scaled};
  }
};

class MinimumReference final : public PeerRule {
 public:
  MinimumReference() : PeerRule({Metric::gpu_sm_clock_mhz}, minutes(1), {Metric::gpu_util}) {}

 private:
  bool applies(const JobTables::Job& job, WallTime now) const override {
    return std::ranges::all_of(job.parts, [&](const JobTables::Part& part) {
      return !(tables().mean(Metric::gpu_util, part, minutes(1), now) < 0.5F);
    });
  }

  std::optional<Limits> limits(std::vector<float>& values) const override {
    const float fastest = std::ranges::max(values);
    return Limits{0.75F * fastest, fastest};
  }
};

class TensorIdle final : public Baseline {
 public:
  TensorIdle() : Baseline({Metric::gpu_tensor}, minutes(1)) {}

 private:
  struct State {
    int attempt = 0;
    bool was_active = false;
    int idle_minutes = 0;
  };

  void judge(const std::string& name, const JobTables::Job& job, WallTime now,
             std::vector<Claim>& claims) override {
    State& state = states_[name];
    if (state.attempt != job.attempt) state = {job.attempt, false, 0};
    float most = kMissing;
    for (const JobTables::Part& part : job.parts)
      most = std::fmax(most, tables().mean(Metric::gpu_tensor, part, minutes(1), now));
    if (std::isnan(most)) return;
    state.idle_minutes = most <= 0.001F ? state.idle_minutes + 1 : 0;
    state.was_active = state.was_active || most > 0.001F;
    const bool has_step = job.last_step && now - *job.last_step < minutes(10);
    if (state.was_active && state.idle_minutes >= 10 && !has_step) claims.push_back({name, Effect::hang, {}});
  }

  std::map<std::string, State> states_;
};

class DistanceSum final : public Baseline {
 public:
  DistanceSum() : Baseline({kOrder.begin(), kOrder.end()}, minutes(1)) {}

 private:
  // The order of the paper, as far as the telemetry has the metric.
  static constexpr std::array kOrder{Metric::nic_pause,         Metric::host_cpu,         Metric::gpu_util,
                                     Metric::gpu_power_w,       Metric::gpu_sm_clock_mhz, Metric::gpu_tensor,
                                     Metric::gpu_nvlink_bytes_s};
  static constexpr double kThreshold = 2.5;
  static constexpr int kMinutes = 4;

  struct Candidate {
    std::string node;
    int minutes = 0;
  };

  void judge(const std::string& name, const JobTables::Job& job, WallTime now,
             std::vector<Claim>& claims) override {
    bool is_found = false;
    for (const Metric metric : kOrder) {
      Candidate& candidate = candidates_[{name, metric}];
      const std::string node = farthest(metric, job, now);
      candidate.minutes = node.empty() ? 0 : node == candidate.node ? candidate.minutes + 1 : 1;
      candidate.node = node;
      if (is_found || candidate.minutes < kMinutes) continue;
      claims.push_back({name, Effect::slow, {EntityKind::host, node, -1, {}}});
      is_found = true;
    }
  }

  // Empty: no node is far enough.
  [[nodiscard]] std::string farthest(Metric metric, const JobTables::Job& job, WallTime now) const {
    std::vector<const std::string*> nodes;
    std::vector<std::vector<float>> series;
    float low = std::numeric_limits<float>::max();
    float high = std::numeric_limits<float>::lowest();
    for (const std::string& node : job.nodes) {
      std::vector<float> values = tables().last(metric, node, now);
      if (values.empty()) continue;
      low = std::min(low, std::ranges::min(values));
      high = std::max(high, std::ranges::max(values));
      nodes.push_back(&node);
      series.push_back(std::move(values));
    }
    if (nodes.size() < 3 || high <= low) return {};
    const std::vector<double> sums = sums_of_distances(series, high - low);
    const Moments moments = moments_of(sums);
    const auto most = std::ranges::max_element(sums) - sums.begin();
    const bool is_far = sums[static_cast<std::size_t>(most)] > moments.mean + kThreshold * moments.deviation;
    return is_far ? *nodes[static_cast<std::size_t>(most)] : std::string();
  }

  static std::vector<double> sums_of_distances(const std::vector<std::vector<float>>& series, float range) {
    std::vector<double> sums(series.size());
    for (std::size_t i = 0; i < series.size(); ++i)
      for (std::size_t k = i + 1; k < series.size(); ++k) {
        double squares = 0;
        for (std::size_t at = 0; at < JobTables::kWindows; ++at) {
          const double difference = static_cast<double>((series[i][at] - series[k][at]) / range);
          squares += difference * difference;
        }
        sums[i] += std::sqrt(squares);
        sums[k] += std::sqrt(squares);
      }
    return sums;
  }

  std::map<std::pair<std::string, Metric>, Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Method> make_baseline(std::string_view name) {
  if (name == "watchdog") return std::make_unique<Watchdog>();
  if (name == "three_sigma") return std::make_unique<ThreeSigma>();
  if (name == "single_mad") return std::make_unique<SingleMad>();
  if (name == "minimum_reference") return std::make_unique<MinimumReference>();
  if (name == "tensor_idle") return std::make_unique<TensorIdle>();
  if (name == "distance_sum") return std::make_unique<DistanceSum>();
  return nullptr;
}

}  // namespace autopilot::jobs::bench
