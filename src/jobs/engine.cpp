// SPDX-License-Identifier: Apache-2.0
#include "jobs/engine.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "jobs/detectors/events.hpp"
#include "jobs/fleet.hpp"
#include "jobs/job_watch.hpp"

namespace autopilot::jobs {
namespace {

// A minute is complete when its windows had this time to arrive.
constexpr Duration kLateness = std::chrono::seconds(20);
// Records that are older than this are dropped, and records further ahead are counted.
constexpr Duration kTolerance = std::chrono::seconds(60);
// After a gap in the time of the caller, only this much is evaluated step by step.
constexpr Duration kMostCaughtUp = std::chrono::minutes(15);
// An ended job stays visible this long.
constexpr Duration kForgetAfter = std::chrono::minutes(30);

WallTime floor_to(WallTime time, Duration step) {
  return WallTime(time.time_since_epoch() / step * step);
}

}  // namespace

class Engine::State {
 public:
  explicit State(EngineOptions options) : options_(options), fleet_(options.max_nodes) {}

  void add(const Record& record) {
    ++counts_.records;
    const WallTime time = time_of(record);
    if (now_ && time > *now_ + kTolerance) ++counts_.future;
    std::visit([this](const auto& held) { take(held); }, record);
  }

  void restore(std::string_view name, int attempt, std::vector<JobFinding> findings, WallTime now) {
    const auto job = jobs_.find(name);
    if (job != jobs_.end()) job->second.restore(attempt, std::move(findings), now);
  }

  void advance(WallTime now) {
    if (!now_ || now - *now_ > kMostCaughtUp) now_ = floor_to(now, kSlot) - (now_ ? kMostCaughtUp : kSlot);
    while (*now_ + kSlot <= now) {
      now_ = *now_ + kSlot;
      step(*now_);
    }
  }

  std::vector<JobFinding> take_findings() {
    std::vector<JobFinding> findings;
    for (auto& [name, job] : jobs_)
      for (JobFinding& finding : job.take())
        findings.push_back(std::move(finding));
    return findings;
  }

  [[nodiscard]] std::vector<JobState> jobs() const {
    std::vector<JobState> states;
    for (const auto& [name, job] : jobs_)
      states.push_back(job.state());
    return states;
  }

  [[nodiscard]] const JobWatch* watch(std::string_view job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] EngineCounts counts() const { return counts_; }

  void set_policy(const Policy& policy) { policy_ = policy; }
  void set_weights(SignalWeightsPtr weights) { weights_ = std::move(weights); }

  std::vector<PeerScore> take_scores() {
    std::vector<PeerScore> scores;
    for (auto& [name, job] : jobs_)
      for (PeerScore& score : job.take_scores())
        scores.push_back(std::move(score));
    return scores;
  }

 private:
  void step(WallTime now) {
    for (auto& [name, job] : jobs_)
      job.tick(now);
    const WallTime end = now - kLateness;
    if (floor_to(end, kMinute) == end)
      for (auto& [name, job] : jobs_)
        job.minute(end);
    std::erase_if(jobs_, [&](const auto& each) {
      const auto ended = each.second.ended();
      return ended && now - *ended > kForgetAfter;
    });
  }

  JobWatch* find(const std::string& job) {
    const auto found = jobs_.find(job);
    if (found != jobs_.end() && !found->second.ended()) return &found->second;
    ++counts_.dropped;
    return nullptr;
  }

  void take(const NodeRecord& record) { fleet_.describe(record); }
  void take(const WindowRecord& record) {
    if (!fleet_.add(record)) ++counts_.dropped;
    const auto number = record.fast.empty() ? std::nullopt : fleet_.number_of(record.node);
    if (!number) return;
    for (const std::string& job : fleet_.node(*number).jobs)
      if (const auto found = jobs_.find(job); found != jobs_.end()) found->second.add_power(record);
  }
  void take(const JobRecord& record) {
    auto found = jobs_.find(record.job);
    if (found == jobs_.end()) {
      if (jobs_.size() >= options_.max_jobs) {
        ++counts_.dropped;
        return;
      }
      found = jobs_.try_emplace(record.job, options_, fleet_, events_, policy_, weights_).first;
    }
    found->second.start(record);
  }
  void take(const JobEndRecord& record) {
    if (JobWatch* job = find(record.job)) job->finish(record);
  }
  void take(const XidRecord& record) { events_.add(record); }
  void take(const LinkRecord& record) { events_.add(record); }
  void take(const NodeFindingRecord& record) { events_.add(record); }
  void take(const NodeStateRecord& record) { events_.add(record); }
  void take(const HeartbeatRecord&) {}  // the process is alive: no progress
  void take(const ValidationRecord&) {}
  template <class OfJob>
  void take(const OfJob& record) {
    if (JobWatch* job = find(record.job)) job->add(record);
  }

  EngineOptions options_;
  EngineCounts counts_;
  Fleet fleet_;
  EventMemory events_;
  Policy policy_;
  SignalWeightsPtr weights_;
  std::map<std::string, JobWatch, std::less<>> jobs_;
  std::optional<WallTime> now_;
};

Engine::Engine(EngineOptions options) : state_(std::make_unique<State>(options)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

void Engine::add(const Record& record) {
  state_->add(record);
}

void Engine::restore(std::string_view job, int attempt, std::vector<JobFinding> findings, WallTime now) {
  state_->restore(job, attempt, std::move(findings), now);
}

void Engine::advance(WallTime now) {
  state_->advance(now);
}

std::vector<JobFinding> Engine::take() {
  return state_->take_findings();
}

std::vector<JobState> Engine::jobs() const {
  return state_->jobs();
}

std::optional<JobState> Engine::job(std::string_view job) const {
  const JobWatch* watch = state_->watch(job);
  return watch == nullptr ? std::nullopt : std::optional(watch->state());
}

std::vector<JobFinding> Engine::open_findings(std::string_view job) const {
  std::vector<JobFinding> findings;
  if (const JobWatch* watch = state_->watch(job))
    for (const JobFinding* finding : watch->open())
      findings.push_back(*finding);
  return findings;
}

std::optional<Failure> Engine::failure(std::string_view job) const {
  const JobWatch* watch = state_->watch(job);
  return watch == nullptr ? std::nullopt : watch->failure();
}

EngineCounts Engine::counts() const {
  return state_->counts();
}

void Engine::set_policy(const Policy& policy) {
  state_->set_policy(policy);
}

void Engine::set_weights(SignalWeightsPtr weights) {
  state_->set_weights(std::move(weights));
}

std::vector<PeerScore> Engine::take_scores() {
  return state_->take_scores();
}

}  // namespace autopilot::jobs
