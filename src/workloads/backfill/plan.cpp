// SPDX-License-Identifier: Apache-2.0
#include "workloads/backfill/plan.hpp"

#include <algorithm>
#include <map>

namespace autopilot::workloads::backfill {
namespace {

constexpr double kSecondsOfHour = 3600;

// A job that holds nodes until a time.
struct Holding {
  std::vector<std::size_t> nodes;
  Capacity on_each;
  std::optional<double> until_s;
};

struct State {
  std::vector<Capacity> free;
  std::vector<int> jobs;  // on each node
  std::vector<Holding> holdings;
};

State state_of(const Cluster& cluster) {
  State state;
  std::map<std::string, std::size_t> places;
  for (const Node& node : cluster.nodes) {
    places[node.name] = state.free.size();
    state.free.push_back(node.capacity);
  }
  state.jobs.resize(state.free.size());
  for (const RunningJob& job : cluster.running) {
    Holding holding{{}, job.on_each, job.ends_in_s};
    for (const std::string& name : job.nodes)
      if (const auto place = places.find(name); place != places.end()) {
        take(state.free[place->second], job.on_each);
        ++state.jobs[place->second];
        holding.nodes.push_back(place->second);
      }
    state.holdings.push_back(std::move(holding));
  }
  return state;
}

// Nodes where the job fits, the emptiest last, so that whole nodes remain; empty: too few. `may_share`:
// beside other jobs.
std::vector<std::size_t> nodes_for(const PendingJob& job, const std::vector<Capacity>& free,
                                   const std::vector<int>& jobs, bool may_share) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < free.size(); ++i)
    if (fits(job.on_each, free[i]) && (may_share || jobs[i] == 0)) found.push_back(i);
  if (found.size() < static_cast<std::size_t>(job.nodes)) return {};
  std::stable_sort(found.begin(), found.end(),
                   [&free](std::size_t a, std::size_t b) { return free[a].gpus < free[b].gpus; });
  found.resize(static_cast<std::size_t>(job.nodes));
  return found;
}

// Whether the job fits at that time, when the holdings that end until then have ended.
bool fits_at(const PendingJob& job, const State& state, double time_s) {
  std::vector<Capacity> free = state.free;
  for (const Holding& holding : state.holdings)
    if (holding.until_s && *holding.until_s <= time_s)
      for (const std::size_t node : holding.nodes)
        give(free[node], holding.on_each);
  return !nodes_for(job, free, state.jobs, true).empty();
}

std::optional<double> earliest_start(const PendingJob& job, const State& state) {
  std::vector<double> ends;
  for (const Holding& holding : state.holdings)
    if (holding.until_s) ends.push_back(*holding.until_s);
  std::sort(ends.begin(), ends.end());
  for (const double end : ends)
    if (fits_at(job, state, end)) return end;
  return std::nullopt;
}

void start(State& state, const PendingJob& job, const std::vector<std::size_t>& nodes) {
  for (const std::size_t node : nodes) {
    take(state.free[node], job.on_each);
    ++state.jobs[node];
  }
  state.holdings.push_back({nodes, job.on_each, job.runs_s});
}

class Planner {
 public:
  Planner(const Cluster& cluster, const PlanLimits& limits)
      : cluster_(cluster), limits_(limits), state_(state_of(cluster)) {}

  Plan plan() {
    for (const PendingJob& job : cluster_.pending)
      plan_.jobs.push_back(decide(job));
    return std::move(plan_);
  }

 private:
  PlannedJob decide(const PendingJob& job) {
    PlannedJob planned{job.name, Decision::no_room, {}, 0};
    if (head_ == nullptr) {
      const auto nodes = nodes_for(job, state_.free, state_.jobs, true);
      if (nodes.empty()) {
        head_ = &job;
        plan_.head_starts_in_s = earliest_start(job, state_);
        planned.decision = Decision::head;
        return planned;
      }
      return started(planned, job, nodes, Decision::starts);
    }
    return decide_behind_head(planned, job);
  }

  PlannedJob decide_behind_head(PlannedJob planned, const PendingJob& job) {
    if (nodes_for(job, state_.free, state_.jobs, true).empty()) return planned;
    // Beside other jobs only with a measured slowdown within the limit.
    const bool may_share = job.slowdown && *job.slowdown <= limits_.most_slowdown;
    const auto nodes = nodes_for(job, state_.free, state_.jobs, may_share);
    if (nodes.empty()) {
      planned.decision = Decision::interferes;
      return planned;
    }
    if (!job.runs_s) {
      planned.decision = Decision::unknown_runtime;
      return planned;
    }
    State after = state_;
    start(after, job, nodes);
    if (!plan_.head_starts_in_s || !fits_at(*head_, after, *plan_.head_starts_in_s)) {
      planned.decision = Decision::too_long;
      return planned;
    }
    planned.gpu_hours =
        job.on_each.gpus * job.nodes * std::min(*job.runs_s, *plan_.head_starts_in_s) / kSecondsOfHour;
    return started(planned, job, nodes, Decision::backfills);
  }

  PlannedJob started(PlannedJob planned, const PendingJob& job, const std::vector<std::size_t>& nodes,
                     Decision decision) {
    start(state_, job, nodes);
    planned.decision = decision;
    for (const std::size_t node : nodes)
      planned.nodes.push_back(cluster_.nodes[node].name);
    return planned;
  }

  const Cluster& cluster_;
  PlanLimits limits_;
  State state_;
  const PendingJob* head_ = nullptr;
  Plan plan_;
};

}  // namespace

Plan plan_of(const Cluster& cluster, const PlanLimits& limits) {
  return Planner(cluster, limits).plan();
}

std::vector<HeldGpus> held_gpus(const Cluster& cluster) {
  std::vector<HeldGpus> found;
  for (const RunningJob& job : cluster.running) {
    HeldGpus held;
    held.job = job.name;
    held.nodes = job.nodes;
    held.held = job.on_each.gpus * static_cast<double>(job.nodes.size());
    if (held.held <= 0) continue;
    if (!job.gpu_use.empty()) {
      held.sampled = static_cast<double>(job.gpu_use.size());
      held.idle = static_cast<double>(std::count_if(job.gpu_use.begin(), job.gpu_use.end(),
                                                    [](double use) { return use < kUsedGpu_percent; }));
      held.idle_hours = held.idle * job.sampled_s / kSecondsOfHour;
      held.use = held.idle > 0 ? Use::idle : Use::used;
    }
    found.push_back(std::move(held));
  }
  return found;
}

std::vector<Capacity> free_of(const Cluster& cluster) {
  return state_of(cluster).free;
}

}  // namespace autopilot::workloads::backfill
