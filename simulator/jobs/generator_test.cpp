// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/generator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "simulator/jobs/names.hpp"

namespace autopilot::simulated_jobs {
namespace {

using jobs::Metric;

constexpr std::uint64_t kDigestOfSeed2 = 6930388985436260440ULL;

std::vector<jobs::Record> records_of(Scenario scenario, jobs::Labels* labels = nullptr) {
  Generator generator(std::move(scenario));
  std::vector<jobs::Record> all;
  std::vector<jobs::Record> window;
  while (generator.next(window))
    std::ranges::move(window, std::back_inserter(all));
  if (labels != nullptr) *labels = generator.labels();
  return all;
}

template <class T>
std::vector<T> all_of(const std::vector<jobs::Record>& records) {
  std::vector<T> found;
  for (const jobs::Record& record : records)
    if (const T* held = std::get_if<T>(&record)) found.push_back(*held);
  return found;
}

Scenario named(std::string_view name) {
  return named_scenario(name).value();
}

float cell(const jobs::WindowRecord& window, Metric metric, std::size_t row) {
  for (const jobs::Column& column : window.columns)
    if (column.metric == metric && row < column.values.size()) return column.values[row];
  return jobs::kMissing;
}

// Mean of a column between two times in seconds from the start.
double mean(const std::vector<jobs::Record>& records, const std::string& node, Metric metric, std::size_t row,
            double from, double to) {
  const WallTime start = Scenario{}.start;
  double sum = 0;
  int count = 0;
  for (const jobs::Record& record : records) {
    const auto* window = std::get_if<jobs::WindowRecord>(&record);
    if (window == nullptr || window->node != node) continue;
    const double at = to_seconds(window->time - start);
    const float value = cell(*window, metric, row);
    if (at <= from || at > to || std::isnan(value)) continue;
    sum += static_cast<double>(value);
    ++count;
  }
  return count == 0 ? NAN : sum / count;
}

// Differs if any value differs.
std::uint64_t digest(const std::vector<jobs::Record>& records) {
  std::uint64_t sum = 14695981039346656037ULL;
  const auto add = [&](std::uint64_t value) { sum = (sum ^ value) * 1099511628211ULL; };
  for (const jobs::Record& record : records) {
    add(record.index());
    add(static_cast<std::uint64_t>(time_of(record).time_since_epoch().count()));
    if (const auto* window = std::get_if<jobs::WindowRecord>(&record)) {
      for (const jobs::Column& column : window->columns)
        for (const float value : column.values)
          add(std::isnan(value) ? 1 : std::bit_cast<std::uint32_t>(value));
      for (const jobs::FastPower& fast : window->fast)
        for (const float value : fast.power_w)
          add(std::bit_cast<std::uint32_t>(value));
    }
    if (const auto* step = std::get_if<jobs::StepRecord>(&record)) {
      add(std::bit_cast<std::uint64_t>(step->step_s.value_or(0)));
      if (!std::isnan(step->loss.value_or(0))) add(std::bit_cast<std::uint64_t>(*step->loss));
    }
  }
  return sum;
}

TEST(Generator, two_runs_of_a_scenario_are_equal) {
  ScenarioOptions options;
  options.nodes = 4;
  options.hours = 2;
  options.faults_per_1000_node_days = 1e5;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Scenario scenario = make_scenario(seed, options).value();
    EXPECT_EQ(digest(records_of(scenario)), digest(records_of(scenario))) << seed;
  }
}

// The figures of a benchmark name seeds: they hold on each machine and for each compiler. A change of the
// generator changes this number, and those figures.
TEST(Generator, a_seed_gives_the_same_records_on_every_machine) {
  ScenarioOptions options;
  options.nodes = 4;
  options.hours = 4;
  options.faults_per_1000_node_days = 1e5;
  EXPECT_EQ(digest(records_of(make_scenario(2, options).value())), kDigestOfSeed2);
}

TEST(Generator, a_slow_rank_lowers_the_tensor_share_of_its_peers_and_not_its_own) {
  Scenario scenario = named("gpu_clock");
  scenario.jobs.front().checkpoint = {};
  const auto records = records_of(scenario);
  const std::string culprit = node_name(2);
  const auto tensor = [&](const std::string& node, std::size_t gpu, bool is_slow) {
    return is_slow ? mean(records, node, Metric::gpu_tensor, gpu, 5500, 6500)
                   : mean(records, node, Metric::gpu_tensor, gpu, 4000, 5300);
  };
  EXPECT_LT(tensor(node_name(0), 0, true), 0.9 * tensor(node_name(0), 0, false));
  EXPECT_LT(tensor(culprit, 0, true), 0.9 * tensor(culprit, 0, false));
  EXPECT_GT(tensor(culprit, 3, true), 0.99 * tensor(culprit, 3, false));
  // Peers wait in a collective: a kernel runs all the time.
  EXPECT_GT(mean(records, node_name(0), Metric::gpu_util, 0, 5500, 6500), 0.97);
  EXPECT_LT(mean(records, node_name(0), Metric::gpu_power_w, 0, 5500, 6500),
            mean(records, node_name(0), Metric::gpu_power_w, 0, 4000, 5300) - 30);
  EXPECT_LT(mean(records, culprit, Metric::gpu_sm_clock_mhz, 3, 5500, 6500),
            0.8 * mean(records, culprit, Metric::gpu_sm_clock_mhz, 0, 5500, 6500));
}

TEST(Generator, the_magnitude_of_a_label_is_the_growth_of_the_steps) {
  for (const char* name : {"gpu_clock", "pcie_width", "nvlink_errors", "nic_degraded", "power_brake",
                           "cpu_contention", "storage_stall", "link_flap"}) {
    jobs::Labels labels;
    const auto records = records_of(named(name), &labels);
    ASSERT_EQ(labels.faults.size(), 1U) << name;
    double before = 0;
    double during = 0;
    int n_before = 0;
    int n_during = 0;
    for (const auto& step : all_of<jobs::StepRecord>(records)) {
      if (step.step_s.value() > 15) continue;  // with a checkpoint before it
      if (step.time < labels.faults[0].onset) {
        before += step.step_s.value();
        ++n_before;
      } else if (step.time > labels.faults[0].onset + std::chrono::seconds(20) &&
                 step.time < labels.faults[0].end) {
        during += step.step_s.value();
        ++n_during;
      }
    }
    ASSERT_GT(n_before, 100);
    ASSERT_GT(n_during, 100);
    EXPECT_NEAR(during / n_during / (before / n_before) - 1, labels.faults[0].magnitude.value(), 0.03)
        << name;
  }
}

TEST(Generator, every_named_scenario_has_its_label_and_the_labelled_node_is_in_the_job) {
  for (const Scenario& scenario : named_scenarios()) {
    jobs::Labels labels;
    const auto records = records_of(scenario, &labels);
    ASSERT_EQ(labels.faults.size(), scenario.faults.size()) << scenario.name;
    std::set<std::string> nodes;
    for (const auto& job : all_of<jobs::JobRecord>(records))
      for (const jobs::RankRecord& rank : job.ranks)
        nodes.insert(rank.node);
    for (const jobs::FaultLabel& label : labels.faults) {
      EXPECT_EQ(label.fault_class, type_of(scenario.faults[0].fault_class).name);
      EXPECT_LT(label.onset, label.end) << scenario.name;
      EXPECT_TRUE(label.node.empty() || nodes.contains(label.node)) << scenario.name;
      const bool is_slow = type_of(scenario.faults[0].fault_class).effect == jobs::Effect::slow;
      EXPECT_EQ(label.magnitude.has_value(), is_slow) << scenario.name;
      EXPECT_EQ(label.effect, type_of(scenario.faults[0].fault_class).effect) << scenario.name;
    }
    for (const Confounder confounder : scenario.confounders) {
      const std::string_view name = confounder_types()[static_cast<std::size_t>(confounder)].name;
      EXPECT_TRUE(std::ranges::any_of(labels.confounders, [&](const auto& label) {
        return label.confounder_class == name;
      })) << scenario.name;
    }
  }
}

void expect_valid(const jobs::WindowRecord& window, const std::string& name) {
  for (const jobs::Column& column : window.columns) {
    const jobs::MetricInfo& known = jobs::info(column.metric);
    const std::size_t rows = known.table == jobs::Table::gpu       ? window.gpus.size()
                             : known.table == jobs::Table::process ? window.processes.size()
                             : known.table == jobs::Table::nic     ? window.nics.size()
                                                                   : 1;
    ASSERT_EQ(column.values.size(), rows) << name << " " << known.name;
    for (const float value : column.values)
      if (value < 0 || static_cast<double>(value) > known.max || std::isinf(value))
        FAIL() << name << " " << known.name << " " << value;
  }
  for (const jobs::FastPower& fast : window.fast) {
    ASSERT_EQ(fast.power_w.size(), 10U);
    for (const float watts : fast.power_w)
      ASSERT_TRUE(watts >= 0 && watts < 1000) << name << " " << watts;
  }
}

TEST(Generator, values_are_in_the_ranges_of_their_metrics) {
  ScenarioOptions options;
  options.hours = 2;
  options.nodes = 4;
  options.faults_per_1000_node_days = 1e5;
  std::vector<Scenario> scenarios = named_scenarios();
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    scenarios.push_back(make_scenario(seed, options).value());
  for (const Scenario& scenario : scenarios) {
    Generator generator(scenario);
    std::vector<jobs::Record> window;
    while (generator.next(window))
      for (const jobs::Record& record : window)
        if (const auto* held = std::get_if<jobs::WindowRecord>(&record)) expect_valid(*held, scenario.name);
  }
}

TEST(Generator, time_falls_by_4_s_at_most) {
  for (const char* name : {"clock_skew", "link_flap", "xid", "shared_node"}) {
    WallTime highest{};
    for (const jobs::Record& record : records_of(named(name))) {
      EXPECT_GE(time_of(record), highest - std::chrono::seconds(4)) << name;
      highest = std::max(highest, time_of(record));
    }
  }
}

TEST(Generator, after_a_hang_the_job_restarts_from_its_checkpoint) {
  jobs::Labels labels;
  const auto records = records_of(named("hang_lost_rank"), &labels);
  const auto starts = all_of<jobs::JobRecord>(records);
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_EQ(starts[1].attempt, 2);
  EXPECT_GT(starts[1].time, labels.faults[0].onset + std::chrono::seconds(600));
  // The node was replaced by the spare.
  for (const jobs::RankRecord& rank : starts[1].ranks)
    EXPECT_NE(rank.node, labels.faults[0].node);
  std::int64_t last = 0;
  std::int64_t first_again = -1;
  for (const auto& step : all_of<jobs::StepRecord>(records)) {
    EXPECT_FALSE(step.time > labels.faults[0].onset + std::chrono::seconds(1) && step.time < starts[1].time);
    if (step.time < labels.faults[0].onset) last = step.step;
    if (first_again < 0 && step.time > starts[1].time) first_again = step.step;
  }
  EXPECT_GT(first_again, 0);
  EXPECT_LT(first_again, last);
  EXPECT_EQ(all_of<jobs::ExitRecord>(records).size(), 32U);
}

const jobs::Communicator& last_before_exit(const std::vector<jobs::CollectivesRecord>& all, WallTime onset,
                                           std::size_t communicator) {
  const jobs::CollectivesRecord* found = &all.front();
  for (const auto& record : all)
    if (record.time < onset + std::chrono::seconds(500)) found = &record;
  return found->communicators[communicator];
}

TEST(Generator, counts_of_collectives_show_the_kind_of_a_hang) {
  const auto behind = [](const std::string& name, std::size_t communicator) {
    jobs::Labels labels;
    const auto records = records_of(named(name), &labels);
    const auto all = all_of<jobs::CollectivesRecord>(records);
    const jobs::Communicator found = last_before_exit(all, labels.faults[0].onset, communicator);
    std::vector<int> ranks;
    const auto most = std::ranges::max(found.started);
    for (std::size_t i = 0; i < found.started.size(); ++i)
      if (found.started[i] != most) ranks.push_back(found.ranks[i]);
    return ranks;
  };
  EXPECT_EQ(behind("hang_lost_rank", 1), std::vector<int>{19});
  EXPECT_EQ(behind("hang_data_loader", 1), std::vector<int>{19});
  EXPECT_EQ(behind("hang_stopped_process", 1), std::vector<int>{19});
  EXPECT_TRUE(behind("hang_link_equal_counts", 1).empty());
  EXPECT_EQ(behind("hang_mismatch", 0).size(), 16U);
  EXPECT_EQ(behind("hang_mismatch", 1).size(), 16U);
}

TEST(Generator, in_a_hang_the_victims_spin_and_the_culprit_is_idle) {
  const auto records = records_of(named("hang_data_loader"));
  EXPECT_GT(mean(records, node_name(0), Metric::gpu_util, 0, 5500, 5900), 0.97);
  EXPECT_LT(mean(records, node_name(0), Metric::gpu_tensor, 0, 5500, 5900), 0.01);
  EXPECT_NEAR(mean(records, node_name(0), Metric::gpu_power_w, 0, 5500, 5900), 230.0, 10);
  EXPECT_LT(mean(records, node_name(2), Metric::gpu_util, 3, 5500, 5900), 0.05);
  EXPECT_GT(mean(records, node_name(2), Metric::process_disk_sleep, 3, 5500, 5900), 0.95);
  EXPECT_LT(mean(records, node_name(0), Metric::nic_tx_bytes_s, 0, 5500, 5900),
            0.01 * mean(records, node_name(0), Metric::nic_tx_bytes_s, 0, 4000, 5000));
}

TEST(Generator, a_fault_of_a_replaced_node_hits_the_spare) {
  Scenario scenario = named("hang_lost_rank");
  PlannedFault later = named("gpu_clock").faults.front();
  later.at = 9000;
  later.lasting = 600;
  scenario.faults.push_back(later);
  jobs::Labels labels;
  records_of(scenario, &labels);
  ASSERT_EQ(labels.faults.size(), 2U);
  EXPECT_EQ(labels.faults[0].node, node_name(2));
  EXPECT_EQ(labels.faults[1].node, node_name(4));
}

TEST(Generator, a_lost_node_sends_nothing_and_is_reported_lost) {
  jobs::Labels labels;
  const auto records = records_of(named("node_loss"), &labels);
  const auto states = all_of<jobs::NodeStateRecord>(records);
  ASSERT_FALSE(states.empty());
  EXPECT_TRUE(states[0].is_lost);
  EXPECT_EQ(states[0].node, node_name(2));
  EXPECT_TRUE(std::isnan(mean(records, node_name(2), Metric::gpu_power_w, 0, 5420, 5460)));
}

TEST(Generator, a_job_without_progress_shows_only_the_rhythm_of_its_power) {
  const auto records = records_of(named("hang_power_rhythm_only"));
  EXPECT_TRUE(all_of<jobs::StepRecord>(records).empty());
  EXPECT_TRUE(all_of<jobs::CollectivesRecord>(records).empty());
  EXPECT_TRUE(all_of<jobs::PhaseRecord>(records).empty());
  EXPECT_FALSE(all_of<jobs::WindowRecord>(records).front().fast.empty());
}

TEST(Generator, heartbeats_continue_in_a_hang) {
  jobs::Labels labels;
  const auto records = records_of(named("hang_lost_rank"), &labels);
  const auto beats = all_of<jobs::HeartbeatRecord>(records);
  const auto inside = std::ranges::count_if(beats, [&](const jobs::HeartbeatRecord& beat) {
    return beat.time > labels.faults[0].onset && beat.time < labels.faults[0].onset + std::chrono::minutes(9);
  });
  EXPECT_GE(inside, 4 * 17);
}

TEST(Generator, a_preempted_job_ends_with_its_pods_and_leaves_idle_nodes) {
  const auto records = records_of(named("job_preempted"));
  EXPECT_EQ(all_of<jobs::PodRecord>(records).size(), 32U);
  EXPECT_EQ(all_of<jobs::ExitRecord>(records).size(), 32U);
  const auto ends = all_of<jobs::JobEndRecord>(records);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].outcome, jobs::Outcome::preempted);
  for (const auto& step : all_of<jobs::StepRecord>(records))
    EXPECT_LT(step.time, ends[0].time);
  EXPECT_LT(mean(records, node_name(0), Metric::gpu_power_w, 0, 5500, 10000), 100);
}

TEST(Generator, a_hung_replica_keeps_its_requests_and_returns_nothing) {
  jobs::Labels labels;
  const auto records = records_of(named("hung_engine"), &labels);
  int hung = 0;
  for (const auto& record : all_of<jobs::ServingRecord>(records)) {
    const bool is_inside = record.time > labels.faults[0].onset + std::chrono::seconds(20) &&
                           record.time < labels.faults[0].end - std::chrono::seconds(20);
    if (!is_inside || record.replica != "replica-2") continue;
    EXPECT_EQ(record.tokens_s, 0);
    EXPECT_GT(record.waiting, 0);
    ++hung;
  }
  EXPECT_GT(hung, 200);
}

TEST(Generator, a_share_of_the_windows_is_missing) {
  const Scenario scenario = named("missing_windows");
  const auto windows = all_of<jobs::WindowRecord>(records_of(scenario)).size();
  const double all = scenario.nodes * scenario.seconds() / kWindow;
  EXPECT_NEAR(1 - static_cast<double>(windows) / all, 0.03, 0.01);
}

}  // namespace
}  // namespace autopilot::simulated_jobs
