// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/guard_rails.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace autopilot::jobs {
namespace {

using namespace std::chrono_literals;

constexpr Duration kEvictionHour = 1h;
constexpr Duration kEvictionDay = 24h;
constexpr Duration kBreakerWindow = 30min;
constexpr Duration kStopInterval = 6h;

Permission refused(Rail rail, std::string sentence, bool pages = false) {
  return {false, rail, std::move(sentence), pages};
}

Permission allowed() {
  return {true, Rail::none, {}, false};
}

// The node leaves the job.
bool evicts_node(const Request& request) {
  return (request.choice == Choice::swap_at_checkpoint || request.choice == Choice::stop_now) &&
         request.culprit.is_accused();
}

}  // namespace

GuardRails::GuardRails(GuardLimits limits) : limits_(limits) {}

void GuardRails::became_unhealthy(std::string_view node, WallTime time) {
  latest_ = std::max(latest_, time);
  const auto held = unhealthy_.find(node);
  if (held != unhealthy_.end()) {
    held->second = std::max(held->second, time);
    return;
  }
  forget(latest_);
  if (unhealthy_.size() >= limits_.records) {
    is_full_ = true;
    full_since_ = latest_;
    return;
  }
  unhealthy_.emplace(node, time);
}

void GuardRails::made_progress(std::string_view job, WallTime time) {
  latest_ = std::max(latest_, time);
  const auto held = jobs_.find(job);
  if (held != jobs_.end() && held->second.last_stop <= time) jobs_.erase(held);
}

void GuardRails::ended(std::string_view job) {
  if (const auto held = jobs_.find(job); held != jobs_.end()) jobs_.erase(held);
}

std::size_t GuardRails::unhealthy_since(WallTime time) const {
  return static_cast<std::size_t>(std::count_if(unhealthy_.begin(), unhealthy_.end(),
                                                [&](const auto& held) { return held.second > time; }));
}

bool GuardRails::is_breaker_open(WallTime now) const {
  const WallTime time = std::max(now, latest_);
  const std::size_t count = unhealthy_since(time - kBreakerWindow);
  return count >= static_cast<std::size_t>(std::max(limits_.least_unhealthy, 1)) &&
         static_cast<double>(count) > limits_.unhealthy_nodes * static_cast<double>(nodes_);
}

Permission GuardRails::check_breaker(WallTime now) const {
  if (!is_breaker_open(now)) return allowed();
  const std::string count = std::to_string(unhealthy_since(now - kBreakerWindow));
  return refused(
      Rail::breaker,
      count + " of " + std::to_string(nodes_) +
          " nodes became unhealthy within 30 min: a common cause is likely, so nothing acts. Check "
          "the network, the last roll-out, and the detection itself",
      true);
}

Permission GuardRails::check_cluster(const Request& request, WallTime now) const {
  if (Permission breaker = check_breaker(now); !breaker.is_allowed) return breaker;
  if (!evicts_node(request)) return allowed();
  const auto within = [&](Duration duration) {
    return std::count_if(evictions_.begin(), evictions_.end(),
                         [&](const Eviction& held) { return held.time > now - duration; });
  };
  if (within(kEvictionHour) >= limits_.evictions_an_hour)
    return refused(Rail::hourly, std::to_string(limits_.evictions_an_hour) +
                                     " nodes were evicted in the last hour, which is the limit");
  std::set<std::string_view> names{request.culprit.node};
  for (const Eviction& held : evictions_)
    if (held.time > now - kEvictionDay) names.insert(held.node);
  const double share = std::max(1.0, std::floor(limits_.nodes_a_day * static_cast<double>(nodes_)));
  if (static_cast<double>(names.size()) > share)
    return refused(Rail::daily, "Evicting " + request.culprit.node + " would exceed the limit of " +
                                    std::to_string(static_cast<long>(share)) + " nodes a day");
  return allowed();
}

Permission GuardRails::check_job(const Request& request, WallTime now) const {
  const auto found = jobs_.find(request.job);
  if (found == jobs_.end()) {
    if (jobs_.size() < limits_.jobs) return allowed();
    return refused(Rail::memory, "Too many jobs were acted on to remember another: " + request.job);
  }
  const Ledger& ledger = found->second;
  if (request.choice == Choice::stop_now && ledger.last_stop != WallTime{} &&
      ledger.last_stop > now - kStopInterval)
    return refused(Rail::stop_of_job,
                   "The job was stopped automatically within the last 6 h and has made no "
                   "checkpoint since then");
  const auto entity = ledger.entities.find(request.culprit);
  if (entity != ledger.entities.end() && entity->second >= limits_.retries_of_entity)
    return refused(Rail::retry_entity, "An action against " + to_string(request.culprit) +
                                           " was already tried for this job, and no checkpoint followed");
  const auto cause = ledger.causes.find(request.cause);
  if (cause != ledger.causes.end() && cause->second >= limits_.retries_of_cause)
    return refused(Rail::retry_cause, "An action because of " + request.cause +
                                          " was already tried for this job, and no checkpoint followed");
  if (ledger.total >= limits_.retries_of_job)
    return refused(Rail::retry_job,
                   std::to_string(ledger.total) +
                       " automatic actions brought this job no checkpoint: a person must decide");
  return allowed();
}

Permission GuardRails::check_known(const Request& request) const {
  if (!request.is_known)
    return refused(Rail::unknown, "The finding rests on missing data: unknown never acts");
  if (request.choice == Choice::swap_at_checkpoint && !request.culprit.is_accused())
    return refused(Rail::unknown, "No node is accused: there is nothing to swap");
  if (nodes_ == 0)
    return refused(Rail::unknown,
                   "The number of nodes of the cluster is unknown: the limits cannot be checked");
  return allowed();
}

Permission GuardRails::ask(const Request& request, WallTime now) const {
  const WallTime time = std::max(now, latest_);
  if (request.choice == Choice::keep_running) return allowed();
  if (Permission known = check_known(request); !known.is_allowed) return known;
  if (is_full_ && time < full_since_ + kEvictionDay)
    return refused(Rail::memory, "Too many events to remember within a day: the limits cannot be checked",
                   true);
  Permission permission = check_cluster(request, time);
  return permission.is_allowed ? check_job(request, time) : permission;
}

Permission GuardRails::ask_to_finish(const Request& request, WallTime now) const {
  Permission permission = check_known(request);
  return permission.is_allowed ? check_breaker(std::max(now, latest_)) : permission;
}

void GuardRails::acted(const Request& request, WallTime now) {
  latest_ = std::max(latest_, now);
  if (request.choice == Choice::keep_running) return;
  forget(latest_);
  if (evicts_node(request)) {
    if (evictions_.size() >= limits_.records) {
      evictions_.pop_front();
      is_full_ = true;
      full_since_ = latest_;
    }
    evictions_.push_back({latest_, request.culprit.node});
  }
  count_for_job(request);
}

void GuardRails::finished(const Request& request, WallTime now) {
  latest_ = std::max(latest_, now);
  count_for_job(request);
}

void GuardRails::count_for_job(const Request& request) {
  if (!jobs_.contains(request.job) && jobs_.size() >= limits_.jobs) return;
  Ledger& ledger = jobs_[request.job];
  if (request.choice == Choice::stop_now) ledger.last_stop = latest_;
  // At most retries_of_job of each are counted, unless a person goes on: then the total refuses everything.
  ++ledger.total;
  if (ledger.total > limits_.retries_of_job) return;
  ++ledger.entities[request.culprit];
  if (!request.cause.empty()) ++ledger.causes[request.cause];
}

void GuardRails::forget(WallTime now) {
  while (!evictions_.empty() && evictions_.front().time <= now - kEvictionDay)
    evictions_.pop_front();
  if (unhealthy_.size() >= limits_.records)
    std::erase_if(unhealthy_, [&](const auto& held) { return held.second <= now - kBreakerWindow; });
  if (is_full_ && now >= full_since_ + kEvictionDay) is_full_ = false;
}

}  // namespace autopilot::jobs
