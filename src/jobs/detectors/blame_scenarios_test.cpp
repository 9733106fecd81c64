// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

#include "jobs/detectors/blame.hpp"
#include "jobs/detectors/peers.hpp"
#include "jobs/roles.hpp"

// Outliers, persistence and blame together, on the telemetry of a simulated synchronous job: each rank works,
// then waits for the slowest in a collective.
namespace autopilot::jobs {
namespace {

struct SimulatedRank {
  double work = 1;          // seconds at the nominal clock
  double clock = 1;         // fraction of the nominal clock
  double host_gap = 0;      // seconds in which its host starts no kernel
  double cpu_pressure = 0;  // of its host
  double memory = 1;
};

class SimulatedJob {
 public:
  explicit SimulatedJob(std::size_t ranks) : ranks(ranks) {
    std::normal_distribution<double> spread(1, 0.01);
    for (SimulatedRank& rank : this->ranks)
      rank.clock = std::min(1.0, spread(random_));
  }

  // One minute of the metrics that the model knows.
  std::map<Metric, std::vector<float>> measure() {
    double step = 0;
    for (const SimulatedRank& rank : ranks)
      step = std::max(step, rank.work / rank.clock + rank.host_gap);
    step += 0.2;
    std::normal_distribution<double> noise(1, 0.01);
    std::map<Metric, std::vector<float>> columns;
    const auto put = [&](Metric metric, double value) {
      columns[metric].push_back(static_cast<float>(value * noise(random_)));
    };
    for (const SimulatedRank& rank : ranks) {
      const double busy = rank.work / rank.clock / step;
      const double gap = rank.host_gap / step;
      put(Metric::gpu_tensor, 0.5 * busy);
      put(Metric::gpu_util, 1 - gap);
      put(Metric::gpu_power_w, 640 * busy + 90 * gap + 230 * (1 - busy - gap));
      put(Metric::gpu_sm_clock_mhz, 1755 * rank.clock);
      put(Metric::gpu_mem_bytes, 5e10 * rank.memory);
      put(Metric::gpu_nvlink_bytes_s, 1e11 / step);
      put(Metric::nic_tx_bytes_s, 2e10 / step);
      put(Metric::host_psi_cpu, rank.cpu_pressure);
      put(Metric::process_cpu, 1 - 0.5 * gap);
    }
    return columns;
  }

  std::vector<SimulatedRank> ranks;

 private:
  std::mt19937 random_{11};  // NOLINT(cert-msc51-cpp): equal in each run
};

Roles roles_of(SimulatedJob& job, RoleSource source) {
  JobRecord record;
  std::vector<RankLoad> loads;
  auto columns = job.measure();
  for (std::size_t at = 0; at < job.ranks.size(); ++at) {
    RankRecord rank;
    rank.gpu = static_cast<int>(at % 8);
    if (source == RoleSource::declared) rank.role = at < job.ranks.size() / 2 ? "stage 0" : "stage 1";
    record.ranks.push_back(rank);
    loads.push_back({columns[Metric::gpu_tensor][at], columns[Metric::gpu_mem_bytes][at],
                     columns[Metric::gpu_nvlink_bytes_s][at]});
  }
  if (source == RoleSource::none) loads.clear();
  return find_roles(record, nullptr, loads);
}

// What is accused within an hour. `change` alters the job before each minute.
std::set<std::string> accused_in(SimulatedJob& job, RoleSource source,
                                 const std::function<void(SimulatedJob&, int)>& change) {
  const Roles roles = roles_of(job, source);
  EXPECT_EQ(roles.source, source);
  std::map<std::pair<std::string_view, std::size_t>, HitHistory> histories;
  std::set<std::string> accused;
  for (int minute = 0; minute < 60; ++minute) {
    change(job, minute);
    auto columns = job.measure();
    std::vector<std::vector<Deviation>> deviations(job.ranks.size());
    for (const PeerRule& rule : peer_rules())
      for (int role = 0; role < roles.count && columns.contains(rule.metric); ++role) {
        std::vector<std::size_t> members;
        std::vector<float> values;
        std::vector<std::uint32_t> hosts;
        for (std::size_t at = 0; at < roles.role.size(); ++at)
          if (roles.role[at] == role) {
            members.push_back(at);
            values.push_back(columns[rule.metric][at]);
            hosts.push_back(static_cast<std::uint32_t>(at / 8));
          }
        PeerScratch scratch;
        PeerComparison found;
        find_outliers(values, hosts, rule, scratch, found);
        std::vector<Minute> minutes(members.size(), Minute::clear);
        for (const Outlier& hit : found.hits)
          if (!found.is_group_event) minutes[hit.member] = Minute::hit;
        for (std::size_t at = 0; at < members.size(); ++at)
          if (histories[{rule.signal, members[at]}].add(minutes[at], rule.history))
            deviations[members[at]].push_back(
                {&rule, values[at], found.median, found.threshold, 5, found.known, "mlx5_0"});
      }
    for (std::size_t at = 0; at < deviations.size(); ++at) {
      const Blame blame = judge_rank("gpu-" + std::to_string(at / 8), static_cast<int>(at % 8),
                                     deviations[at], {true, true, roles.source}, WallTime{});
      if (blame.culprit.is_accused()) accused.insert(to_string(blame.culprit) + ": " + blame.cause);
    }
  }
  return accused;
}

TEST(BlameScenarios, a_stage_with_more_work_is_never_accused) {
  for (const double more : {1.05, 1.1, 1.2, 1.4})
    for (const RoleSource source : {RoleSource::none, RoleSource::clustered, RoleSource::declared}) {
      SimulatedJob job(32);
      for (std::size_t at = 0; at < 16; ++at)
        job.ranks[at].work = job.ranks[at].memory = more;
      EXPECT_EQ(accused_in(job, source, [](SimulatedJob&, int) {}), std::set<std::string>{}) << more;
    }
}

TEST(BlameScenarios, sequences_of_other_lengths_in_each_minute_accuse_no_rank) {
  for (const RoleSource source : {RoleSource::none, RoleSource::declared}) {
    SimulatedJob job(32);
    std::mt19937 random(5);  // NOLINT(cert-msc51-cpp): equal in each run
    const auto vary = [&](SimulatedJob& varied, int) {
      for (SimulatedRank& rank : varied.ranks)
        rank.work = random() % 5 == 0 ? 1.34 : 1;
    };
    EXPECT_EQ(accused_in(job, source, vary), std::set<std::string>{});
  }
}

TEST(BlameScenarios, a_gpu_with_a_low_clock_is_accused_and_its_victims_are_not) {
  for (const RoleSource source : {RoleSource::none, RoleSource::declared}) {
    SimulatedJob job(32);
    const auto slow = [](SimulatedJob& slowed, int minute) {
      if (minute == 10) slowed.ranks[13].clock = 0.8;
    };
    EXPECT_EQ(accused_in(job, source, slow), std::set<std::string>{"GPU 5 of gpu-1: clock"});
  }
}

TEST(BlameScenarios, a_gpu_that_computes_slowly_at_the_nominal_clock_is_accused) {
  SimulatedJob job(32);
  const auto slow = [](SimulatedJob& slowed, int minute) {
    if (minute == 10) slowed.ranks[13].work = 1.3;
  };
  EXPECT_EQ(accused_in(job, RoleSource::declared, slow), std::set<std::string>{"GPU 5 of gpu-1: compute"});
}

TEST(BlameScenarios, a_host_under_pressure_is_accused_and_its_victims_are_not) {
  for (const RoleSource source : {RoleSource::none, RoleSource::declared}) {
    SimulatedJob job(64);
    const auto press = [](SimulatedJob& pressed, int minute) {
      for (std::size_t at = 8; at < 16 && minute == 10; ++at) {
        pressed.ranks[at].host_gap = 0.15;
        pressed.ranks[at].cpu_pressure = 0.4;
      }
    };
    EXPECT_EQ(accused_in(job, source, press), std::set<std::string>{"node gpu-1: host"});
  }
}

}  // namespace
}  // namespace autopilot::jobs
