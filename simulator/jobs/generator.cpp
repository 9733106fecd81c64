// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/generator.hpp"

#include <algorithm>
#include <utility>

#include "simulator/jobs/fault_runs.hpp"
#include "simulator/jobs/job_run.hpp"
#include "simulator/jobs/names.hpp"
#include "simulator/jobs/node_run.hpp"

namespace autopilot::simulated_jobs {
namespace {

constexpr std::uint64_t kSiliconStream = 2;
constexpr float kRackSlows = 0.001F;  // of the clock, for each degree of warmer air

std::vector<float> draw_silicon(const Scenario& scenario) {
  Pcg random = Pcg::mixed(scenario.seed, kSiliconStream);
  std::vector<float> silicon(static_cast<std::size_t>(scenario.nodes) * kGpus);
  for (std::size_t i = 0; i < silicon.size(); ++i) {
    const int leaf = static_cast<int>(i) / kGpus / scenario.nodes_of_leaf;
    const float offset = leaf % 3 == 0 ? kRackSlows * static_cast<float>(scenario.rack_offset_c) : 0;
    silicon[i] = 1 + static_cast<float>(scenario.silicon) * random.noise() - offset;
  }
  return silicon;
}

jobs::NodeRecord describe(const Scenario& scenario, int node) {
  jobs::NodeRecord record;
  record.time = scenario.start;
  record.node = node_name(node);
  record.leaf = leaf_name(node / scenario.nodes_of_leaf);
  record.gpu_model = "H100 SXM";
  record.gpus = kGpus;
  record.idle_w = kIdleWatts;
  record.spin_w = kSpinWatts;
  record.busy_w = kBusyWatts;
  for (int nic = 0; nic < kGpus; ++nic)
    record.nics.push_back({nic_name(nic), kNicBytes, {nic}});
  return record;
}

}  // namespace

struct Generator::State {
  explicit State(Scenario given)
      : scenario(std::move(given)), silicon(draw_silicon(scenario)), faults(scenario) {
    jobs.reserve(scenario.jobs.size());
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i)
      jobs.emplace_back(scenario, static_cast<int>(i), silicon);
    for (int node = 0; node < scenario.nodes; ++node)
      nodes.emplace_back(scenario, node, silicon);
    for (int spare = 0; spare < scenario.spares; ++spare)
      spares.push_back(scenario.nodes - 1 - spare);
  }

  // Ranks move when a job restarts.
  void take_seats() {
    int starts = 0;
    for (const JobRun& job : jobs)
      starts += job.attempt();
    if (starts == seated) return;
    seated = starts;
    seats.assign(nodes.size(), Seats{});
    for (std::size_t i = 0; i < jobs.size(); ++i)
      for (std::size_t rank = 0; rank < jobs[i].ranks().size(); ++rank) {
        const RankRun& run = jobs[i].ranks()[rank];
        seats[static_cast<std::size_t>(run.node)][static_cast<std::size_t>(run.gpu)] = {
            static_cast<int>(i), static_cast<int>(rank)};
      }
  }

  void measure(std::vector<jobs::Record>& out) {
    std::vector<JobWindow> windows;
    for (const JobRun& job : jobs)
      windows.push_back(make_job_window(job, now));
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (auto window = nodes[i].window(now, faults.of(static_cast<int>(i)), seats[i], windows))
        out.emplace_back(std::move(*window));
  }

  Scenario scenario;
  std::vector<float> silicon;
  FaultRuns faults;
  std::vector<JobRun> jobs;
  std::vector<NodeRun> nodes;
  std::vector<int> spares;
  std::vector<Seats> seats;
  int seated = 0;
  double now = 0;
};

Generator::Generator(Scenario scenario) : state_(std::make_unique<State>(std::move(scenario))) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

const jobs::Labels& Generator::labels() const {
  return state_->faults.labels();
}
const Scenario& Generator::scenario() const {
  return state_->scenario;
}

bool Generator::next(std::vector<jobs::Record>& records) {
  records.clear();
  State& state = *state_;
  if (state.now >= state.scenario.seconds()) {
    state.faults.finish(state.scenario.seconds());
    return false;
  }
  if (state.now <= 0)
    for (int node = 0; node < state.scenario.nodes; ++node)
      records.emplace_back(describe(state.scenario, node));
  const std::size_t fixed = records.size();
  state.faults.update(state.now, state.jobs, records);
  for (std::size_t i = 0; i < state.jobs.size(); ++i)
    state.jobs[i].advance(state.now, state.now + kWindow, state.faults.around(i), state.spares, records);
  state.faults.add_stops(state.jobs);
  state.take_seats();
  state.measure(records);
  std::stable_sort(records.begin() + static_cast<std::ptrdiff_t>(fixed), records.end(),
                   [](const jobs::Record& a, const jobs::Record& b) { return time_of(a) < time_of(b); });
  state.now += kWindow;
  return true;
}

}  // namespace autopilot::simulated_jobs
