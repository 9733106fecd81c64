// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/budget.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "controller/planner/draft.hpp"
#include "learning/hazard/return_policy.hpp"

namespace autopilot::controller {

namespace {

using Turned = std::pair<WallTime, std::string>;  // time, node

// The largest subset within one window.
std::vector<Turned> largest_burst(std::vector<Turned> turned, Duration window) {
  std::ranges::sort(turned);
  std::size_t best_begin = 0;
  std::size_t best_end = 0;
  std::size_t begin = 0;
  for (std::size_t end = 1; end <= turned.size(); ++end) {
    while (turned[end - 1].first - turned[begin].first > window)
      ++begin;
    if (end - begin > best_end - best_begin) best_begin = begin, best_end = end;
  }
  return {turned.begin() + static_cast<std::ptrdiff_t>(best_begin),
          turned.begin() + static_cast<std::ptrdiff_t>(best_end)};
}

}  // namespace

std::vector<TrippedBreaker> tripped_breakers(const World& world, const Policy& policy,
                                             std::span<const Node* const> nodes) {
  // By pool and cause: each node once, with its first time.
  std::map<std::pair<std::string, std::string>, std::map<std::string, WallTime>> turned;
  for (const Node* node : nodes) {
    for (const OpenCause& cause : node->causes) {
      if (!cause.is_passive) continue;
      auto& since = turned[{node->pool, cause.cause}].try_emplace(node->name, cause.since).first->second;
      since = std::min(since, cause.since);
    }
  }
  std::vector<TrippedBreaker> tripped;
  for (const auto& [key, bad] : turned) {
    const Rules& rules = policy.of(key.first);
    const std::size_t in_pool = world.in_pool(key.first).size();
    const auto share = (in_pool * static_cast<std::size_t>(rules.breaker_percent) + 99) / 100;
    const int limit = std::max(rules.breaker_nodes, static_cast<int>(share));
    if (static_cast<int>(bad.size()) < limit) continue;
    std::vector<Turned> times;
    for (const auto& [name, since] : bad)
      times.emplace_back(since, name);
    const std::vector<Turned> burst = largest_burst(std::move(times), rules.breaker_window);
    if (static_cast<int>(burst.size()) < limit) continue;
    TrippedBreaker breaker{
        .pool = key.first, .cause = key.second, .nodes = {}, .limit = limit, .first = burst.front().first};
    for (const Turned& one : burst)
      breaker.nodes.push_back(one.second);
    tripped.push_back(std::move(breaker));
  }
  return tripped;
}

const TrippedBreaker* tripped_in(const std::vector<TrippedBreaker>& breakers, std::string_view pool) {
  const auto at = std::ranges::find_if(breakers, [&](const TrippedBreaker& one) { return one.pool == pool; });
  return at == breakers.end() ? nullptr : &*at;
}

std::string describe(const TrippedBreaker& breaker, const World& world, const Rules& rules) {
  return std::to_string(breaker.nodes.size()) + " of " + std::to_string(world.in_pool(breaker.pool).size()) +
         " nodes of pool " + breaker.pool + " failed with " + breaker.cause + " within " +
         format_duration(rules.breaker_window) + ", and " + std::to_string(breaker.limit) +
         " are too many for separate faults: no node of the pool is cordoned and no running pod is moved "
         "until fewer of them are failed";
}

namespace {

std::string of(std::size_t used, int limit) {
  return std::to_string(used) + " of " + std::to_string(limit);
}

}  // namespace

Budget::Budget(const World& world, const Policy& policy, WallTime now, std::span<const Node* const> nodes)
    : world_(world), policy_(policy), now_(now) {
  for (const std::string& name : world_.open_plans()) {
    ++looked_at_;
    if (const LedgerEntry* plan = world_.entry(name); plan != nullptr && plan->holds) count(*plan);
  }
  count_last_hour();
  count_stops();
  count_recorded(nodes);
}

const std::string& Budget::pool_of(const LedgerEntry& plan) const {
  const Node* node = world_.node(plan.node);
  return node == nullptr ? plan.pool : node->pool;
}

const std::string& Budget::domain_of(const LedgerEntry& plan) const {
  const Node* node = world_.node(plan.node);
  return node == nullptr ? plan.domain : node->domain;
}

World::Names Budget::pools_of(const LedgerEntry& plan) const {
  return {plan.pool, pool_of(plan)};
}

World::Names Budget::domains_of(const LedgerEntry& plan) const {
  return {plan.domain, domain_of(plan)};
}

void Budget::count(const LedgerEntry& plan) {
  for (const std::string& pool : pools_of(plan)) {
    pools_[pool].insert(plan.node);
    if (plan.cause == kLemonCause) lemons_[pool].insert(plan.node);
  }
  for (const std::string& domain : domains_of(plan))
    if (!domain.empty()) domains_[domain].insert(plan.node);
  if (plan.begun && now_ - *plan.begun > kDay) return;
  for (const std::string& job : plan.jobs)
    jobs_[job].insert(plan.node);
}

void Budget::count_last_hour() {
  const auto& by_change = world_.plans_by_change();
  for (auto at = by_change.lower_bound({now_ - kHour, std::string()}); at != by_change.end(); ++at) {
    ++looked_at_;
    const LedgerEntry* plan = world_.entry(at->second);
    if (plan == nullptr || plan->phase == Phase::recorded) continue;
    if (const auto time = held_at(*plan); time && now_ - *time < kHour)
      note(holds_, *plan, *time, plan->name);
    for (const DoneStep& step : plan->done)
      if (step.is_counted && now_ - step.at < kHour) note(evictions_, *plan, step.at, step.target);
  }
}

void Budget::count_stops() {
  Duration longest = policy_.rules.job_interval;
  for (const Pool& pool : policy_.pools)
    longest = std::max(longest, pool.rules.job_interval);
  const auto& by_change = world_.plans_by_change();
  for (auto at = by_change.lower_bound({now_ - longest, std::string()}); at != by_change.end(); ++at) {
    ++looked_at_;
    const LedgerEntry* plan = world_.entry(at->second);
    if (plan == nullptr) continue;
    std::optional<WallTime> last;
    for (const DoneStep& step : plan->done)
      if (step.is_counted) last = std::max(last.value_or(step.at), step.at);
    if (!last) continue;
    for (const std::string& job : plan->jobs)
      stops_[job].emplace_back(*last, plan->node);
  }
}

// In modes that do not act, recorded actions count for as long as they would last, so that the records match
// the other modes.
void Budget::count_recorded(std::span<const Node* const> nodes) {
  const auto& by_change = world_.plans_by_change();
  for (const Node* node : nodes) {
    if (node->causes.empty() || policy_.of(node->pool).mode != Mode::observe) continue;
    for (const std::string& plan : world_.plans_on(node->name)) {
      const LedgerEntry* entry = world_.entry(plan);
      const bool is_hold = entry != nullptr && entry->phase == Phase::recorded && entry->holds;
      if (is_hold && is_evidence(*entry, *node)) count(*entry);
    }
  }
  for (auto at = by_change.lower_bound({now_ - kHour, std::string()}); at != by_change.end(); ++at) {
    const LedgerEntry* plan = world_.entry(at->second);
    if (plan == nullptr || plan->phase != Phase::recorded || !plan->holds || !plan->begun) continue;
    const Rules& rules = policy_.of(pool_of(*plan));
    if (rules.mode != Mode::observe || now_ - *plan->begun >= kHour) continue;
    note(holds_, *plan, *plan->begun, plan->name);
    if (now_ - plan->latest_evidence < rules.report_age) count(*plan);
  }
}

Budget::Times& Budget::times_of(TimesByPool& times, std::string_view pool) {
  const auto at = times.find(pool);
  return at == times.end() ? times[std::string(pool)] : at->second;
}

void Budget::note(TimesByPool& times, const LedgerEntry& plan, WallTime at, const std::string& what) const {
  for (const std::string& pool : pools_of(plan))
    times_of(times, pool).emplace(at, what);
}

std::size_t Budget::others(const Held& held, std::string_view key, const std::string& node) {
  const auto at = held.find(key);
  return at == held.end() ? 0 : at->second.size() - at->second.count(node);
}

int Budget::job_limit(const std::string& job, const Rules& rules) const {
  World::Names nodes;
  for (const std::string& uid : world_.pods_of(job))
    if (const Pod* pod = world_.pod(uid); pod != nullptr && !pod->node.empty()) nodes.insert(pod->node);
  return share_of(nodes.size(), rules.job_percent);
}

// Time of the cordon, not of the decision: a lost cordon comes later, a pending one counts as now, and a
// cordon that is no longer wanted and has an unknown result counts as started.
std::optional<WallTime> Budget::held_at(const LedgerEntry& plan) const {
  if (const auto cordoned = last_done(plan, ActionKind::cordon)) return cordoned;
  return plan.holds ? std::optional(now_) : plan.begun;
}

std::size_t Budget::holds_in_hour(const LedgerEntry& plan) const {
  const auto at = holds_.find(pool_of(plan));
  if (at == holds_.end()) return 0;
  const auto own = plan.holds ? held_at(plan) : std::nullopt;
  return at->second.size() - (own ? at->second.count({*own, plan.name}) : 0);
}

std::optional<Brake> Budget::brake_of_hold(const LedgerEntry& plan) const {
  const std::string& pool = pool_of(plan);
  const std::string& domain = domain_of(plan);
  const Rules& rules = policy_.of(pool);
  const int in_pool = share_of(world_.in_pool(pool).size(), rules.pool_percent);
  if (const std::size_t held = others(pools_, pool, plan.node); std::cmp_greater_equal(held, in_pool))
    return Brake{BrakeKind::pool_budget, of(held, in_pool) + " allowed nodes of pool " + pool + " are held"};
  if (!domain.empty()) {
    const int limit = share_of(world_.in_domain(domain).size(), rules.domain_percent);
    if (const std::size_t held = others(domains_, domain, plan.node); std::cmp_greater_equal(held, limit))
      return Brake{BrakeKind::domain_budget,
                   of(held, limit) + " allowed nodes of failure domain " + domain + " are held"};
  }
  // A node can be held for any job that reported it, if that job has not reported too many nodes.
  const auto is_full = [&](const std::string& job) { return brake_of_job(plan, job).has_value(); };
  if (!plan.jobs.empty() && std::ranges::all_of(plan.jobs, is_full))
    return brake_of_job(plan, plan.jobs.front());
  if (std::cmp_greater_equal(holds_in_hour(plan), rules.holds_per_hour))
    return Brake{BrakeKind::rate, std::to_string(rules.holds_per_hour) + " nodes of pool " + pool +
                                      " were held within the last hour, which is the limit"};
  return std::nullopt;
}

std::optional<Brake> Budget::brake_of_lemon(const LedgerEntry& plan) const {
  const std::string& pool = pool_of(plan);
  const std::size_t nodes = world_.in_pool(pool).size();
  const auto of_faults = static_cast<std::size_t>(share_of(nodes, policy_.of(pool).pool_percent));
  const std::size_t most = std::min(learning::lemon_budget(nodes), of_faults / 2);
  const std::size_t held = others(lemons_, pool, plan.node);
  if (held < most) return std::nullopt;
  return Brake{BrakeKind::pool_budget,
               of(held, static_cast<int>(most)) + " allowed lemons of pool " + pool + " are held"};
}

void Budget::take_hold(const LedgerEntry& plan) {
  count(plan);
  note(holds_, plan, now_, plan.name);
}

void Budget::give_back_hold(const LedgerEntry& plan) {
  const auto remove = [&](Held& held, const std::string& key) {
    const auto at = held.find(key);
    if (at != held.end()) at->second.erase(plan.node);
  };
  for (const std::string& pool : pools_of(plan)) {
    remove(pools_, pool);
    remove(lemons_, pool);
  }
  for (const std::string& domain : domains_of(plan))
    remove(domains_, domain);
  for (const std::string& job : plan.jobs)
    remove(jobs_, job);
  const auto own = held_at(plan);
  if (!own) return;
  for (const std::string& pool : pools_of(plan))
    times_of(holds_, pool).erase({*own, plan.name});
}

std::optional<Brake> Budget::brake_of_job(const LedgerEntry& plan, const std::string& job) const {
  const std::size_t held = others(jobs_, job, plan.node);
  const int limit = job_limit(job, policy_.of(pool_of(plan)));
  if (std::cmp_less(held, limit)) return std::nullopt;
  return Brake{BrakeKind::job_budget, of(held, limit) + " nodes that one job may lose are held"};
}

std::optional<Brake> Budget::brake_of_stop(const LedgerEntry& plan, const std::string& job) const {
  const auto at = stops_.find(job);
  if (at == stops_.end()) return std::nullopt;
  const Duration interval = policy_.of(pool_of(plan)).job_interval;
  for (const auto& [time, node] : at->second)
    if (node != plan.node && now_ - time < interval)
      return Brake{BrakeKind::job_budget, "pods of its job were moved off node " + node +
                                              " within the last " + format_duration(interval)};
  return std::nullopt;
}

void Budget::take_job(const LedgerEntry& plan, const std::string& job) {
  jobs_[job].insert(plan.node);
  stops_[job].emplace_back(now_, plan.node);
}

std::optional<Brake> Budget::brake_of_eviction(std::string_view pool) const {
  const int limit = policy_.of(pool).evictions_per_hour;
  const auto at = evictions_.find(pool);
  if (at == evictions_.end() || std::cmp_less(at->second.size(), limit)) return std::nullopt;
  return Brake{BrakeKind::rate, std::to_string(limit) + " running pods of pool " + std::string(pool) +
                                    " were moved within the last hour, which is the limit"};
}

std::optional<WallTime> Budget::next_in(const TimesByPool& times, std::string_view pool, int limit) const {
  const auto at = times.find(pool);
  if (at == times.end() || std::cmp_less(at->second.size(), limit)) return std::nullopt;
  return at->second.begin()->first + kHour;
}

std::optional<WallTime> Budget::next_hold(std::string_view pool) const {
  return next_in(holds_, pool, policy_.of(pool).holds_per_hour);
}

std::optional<WallTime> Budget::next_eviction(std::string_view pool) const {
  return next_in(evictions_, pool, policy_.of(pool).evictions_per_hour);
}

std::string Budget::state(const LedgerEntry& plan) const {
  const std::string& pool = pool_of(plan);
  const std::string& domain = domain_of(plan);
  const Rules& rules = policy_.of(pool);
  const auto used = [](const Held& held, const std::string& key) {
    const auto at = held.find(key);
    return at == held.end() ? 0 : at->second.size();
  };
  std::string text = "pool " + pool + ": " +
                     of(used(pools_, pool), share_of(world_.in_pool(pool).size(), rules.pool_percent)) +
                     " nodes held";
  if (!domain.empty())
    text += ", " + domain + ": " +
            of(used(domains_, domain), share_of(world_.in_domain(domain).size(), rules.domain_percent));
  const auto at = holds_.find(pool);
  return text + ", last hour: " + of(at == holds_.end() ? 0 : at->second.size(), rules.holds_per_hour);
}

}  // namespace autopilot::controller
