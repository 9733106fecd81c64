// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/node_jobs.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <utility>

#include "agent/jobs/action_ledger.hpp"
#include "agent/jobs/jobs_metrics.hpp"

namespace autopilot::agent::node_jobs_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr WallTime kBegin{std::chrono::hours(500000)};

class MovedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void move(Duration by) {
    now_.wall += by;
    now_.mono += by;
  }

 private:
  mutable Instant now_{kBegin, MonoTime(1h)};
};

// What the fakes answer; a test changes it.
struct Machine {
  MovedClock clock;
  std::vector<collect::SeenJob> jobs;
  std::vector<jobs::JobEndRecord> ended;
  std::optional<Error> search_error;
  int searches = 0;
  int polls = 0;
  bool throws = false;
  Duration poll_takes{};
  int stopped_rank = -1;
  bool steps = true;
  std::int64_t step = 0;
};

class FakeSearch final : public JobSearch {
 public:
  explicit FakeSearch(Machine& machine) : machine_(machine) {}
  Result<collect::SeenJobs> look(Instant now) override {
    ++machine_.searches;
    if (machine_.search_error) return fail(*machine_.search_error);
    return collect::SeenJobs{.time = now.wall, .jobs = machine_.jobs, .not_seen = {"pods: no API server"}};
  }
  std::vector<jobs::JobEndRecord> take_ended() override { return std::exchange(machine_.ended, {}); }

 private:
  Machine& machine_;
};

// A telemetry window every 10 s and a step every second.
class FakeSource final : public collect::Source {
 public:
  explicit FakeSource(Machine& machine) : machine_(machine) {}
  void poll(const collect::SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) override {
    ++machine_.polls;
    machine_.clock.move(machine_.poll_takes);
    if (machine_.throws) {
      records.emplace_back(jobs::HeartbeatRecord{.time = now});
      throw std::runtime_error("out of patience");
    }
    for (const collect::SeenJob& job : jobs.jobs) {
      if (machine_.steps)
        records.emplace_back(
            jobs::StepRecord{.time = now, .job = job.record.job, .step = ++machine_.step, .step_s = 1});
      if (now.time_since_epoch() % 10s == 0s) records.emplace_back(window(job.record, now));
    }
  }
  std::vector<std::string> not_seen() const override { return {"logs: a pipe cannot be read"}; }

 private:
  [[nodiscard]] jobs::WindowRecord window(const jobs::JobRecord& job, WallTime now) const {
    jobs::WindowRecord record{.time = now, .length = 10s, .node = "n0"};
    jobs::Column stopped{jobs::Metric::process_stopped, {}};
    for (const jobs::RankRecord& rank : job.ranks) {
      record.processes.push_back({job.job, rank.rank});
      stopped.values.push_back(rank.rank == machine_.stopped_rank ? 1 : 0);
    }
    record.columns = {stopped};
    return record;
  }
  Machine& machine_;
};

collect::SeenJob job_of(const std::string& name, int ranks = 4) {
  collect::SeenJob job;
  job.record = {.time = kBegin, .job = name, .name = name};
  for (int rank = 0; rank < ranks; ++rank) {
    job.record.ranks.push_back({.rank = rank, .node = "n0", .pid = 100 + rank});
    job.processes.push_back({.pid = 100 + rank, .rank = rank});
  }
  return job;
}

class NodeJobsTest : public testing::Test {
 protected:
  NodeJobs make(NodeJobsOptions options = {}) {
    options.node = "n0";
    options.on_records = [this](const auto& records) {
      whole_.insert(whole_.end(), records.begin(), records.end());
    };
    options.on_news = [this](const JobNews& news) {
      alerts_.insert(alerts_.end(), news.alerts.begin(), news.alerts.end());
      actions_.insert(actions_.end(), news.actions.begin(), news.actions.end());
      reports_.insert(reports_.end(), news.reports.begin(), news.reports.end());
    };
    std::vector<JobSource> sources;
    sources.push_back({"telemetry", std::make_unique<FakeSource>(machine_)});
    return {options, machine_.clock, std::make_unique<FakeSearch>(machine_), std::move(sources)};
  }

  void run(NodeJobs& jobs, Duration time) {
    for (Duration past{}; past < time; past += 1s) {
      (void)jobs.run();
      machine_.clock.move(1s);
    }
  }

  static NodeJobsOptions acting() {
    NodeJobsOptions options;
    options.brain.policy.mode = jobs::Mode::act;
    options.brain.cluster_nodes = 1;
    return options;
  }
  // Without a checkpoint its age is unknown, and nothing acts.
  void run_to_checkpoint(NodeJobs& jobs, const std::string& job) {
    run(jobs, 3min);
    const WallTime now = machine_.clock.now().wall;
    for (const jobs::Edge edge : {jobs::Edge::begin, jobs::Edge::end})
      jobs.add({jobs::PhaseRecord{.time = now, .job = job, .phase = jobs::Phase::checkpoint, .edge = edge}});
    run(jobs, 10s);
  }
  void hang(NodeJobs& jobs) {
    machine_.steps = false;
    machine_.stopped_rank = 2;
    run(jobs, 15min);
  }

  template <class R>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        whole_, [](const jobs::Record& record) { return std::holds_alternative<R>(record); }));
  }

  Machine machine_;
  std::vector<jobs::Record> whole_;
  std::vector<jobs::Alert> alerts_;
  std::vector<jobs::WantedAction> actions_;
  std::vector<jobs::JobReport> reports_;
};

TEST_F(NodeJobsTest, without_a_job_nothing_is_polled_and_searches_are_rare) {
  NodeJobs jobs = make();
  run(jobs, 5min);
  EXPECT_EQ(machine_.searches, 10);
  EXPECT_EQ(machine_.polls, 0);
  const auto snapshot = jobs.snapshot();
  EXPECT_THAT(snapshot->list.jobs, IsEmpty());
  EXPECT_THAT(snapshot->list.not_seen, Contains("pods: no API server"));
  EXPECT_EQ(snapshot->list.time, machine_.clock.now().wall - 1s);
}

TEST_F(NodeJobsTest, a_job_is_polled_once_a_second_and_evaluated) {
  machine_.jobs = {job_of("a")};
  NodeJobs jobs = make();
  run(jobs, 5min);
  EXPECT_EQ(machine_.searches, 30);
  EXPECT_EQ(machine_.polls, 300);
  const auto report = jobs.brain().report("a");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state.health, jobs::JobHealth::running);
  EXPECT_EQ(report->state.progress_source, "steps");
  EXPECT_EQ(count<jobs::JobRecord>(), 1U);
}

TEST_F(NodeJobsTest, a_stopped_rank_is_the_culprit_of_a_hang_within_three_minutes) {
  machine_.jobs = {job_of("a")};
  NodeJobs jobs = make();
  run(jobs, 3min);
  machine_.steps = false;
  machine_.stopped_rank = 2;
  run(jobs, 3min);
  const auto report = jobs.brain().report("a").value();
  EXPECT_EQ(report.state.health, jobs::JobHealth::hung);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].culprit.node, "n0");
  EXPECT_EQ(report.findings[0].ranks, std::vector<int>{2});
  const auto hang = std::ranges::find_if(
      alerts_, [](const jobs::Alert& alert) { return alert.title.find("hangs") != std::string::npos; });
  ASSERT_NE(hang, alerts_.end());
  EXPECT_EQ(hang->severity, jobs::Severity::page);
  EXPECT_THAT(reports_, Contains(testing::Field(&jobs::JobReport::findings,
                                                Contains(testing::Field(&jobs::JobFinding::id, hang->id)))));
  EXPECT_THAT(actions_, IsEmpty());  // the mode is observe
}

TEST_F(NodeJobsTest, in_the_mode_act_a_hang_wants_an_action_until_it_was_done) {
  machine_.jobs = {job_of("slurm/12")};
  NodeJobs jobs = make(acting());
  run_to_checkpoint(jobs, "slurm/12");
  hang(jobs);
  ASSERT_FALSE(actions_.empty());
  EXPECT_EQ(actions_[0].finding.job, "slurm/12");
  EXPECT_EQ(actions_[0].finding.culprit.node, "n0");
  jobs.brain().acted(actions_[0], machine_.clock.now().wall);
  actions_.clear();
  run(jobs, 30min);
  EXPECT_THAT(actions_, IsEmpty());
}

TEST_F(NodeJobsTest, an_action_before_a_restart_counts_for_the_guard_rails) {
  machine_.jobs = {job_of("slurm/12")};
  NodeJobs jobs = make(acting());
  run_to_checkpoint(jobs, "slurm/12");
  const WallTime now = machine_.clock.now().wall;
  const jobs::Request stop{.job = "slurm/12",
                           .choice = jobs::Choice::stop_now,
                           .culprit = {},
                           .cause = "another",
                           .is_known = true};
  count_actions({{.finding = "a", .state = ActionState::done, .time = now + 1h, .request = stop}}, now,
                jobs.brain());
  hang(jobs);
  EXPECT_THAT(actions_, IsEmpty());
  const auto report = jobs.brain().report("slurm/12").value();
  ASSERT_FALSE(report.findings.empty());
  EXPECT_THAT(report.findings[0].decision.because, HasSubstr("was stopped automatically"));
}

TEST_F(NodeJobsTest, a_job_that_stops_is_suspected_by_its_finding) {
  machine_.jobs = {job_of("a")};
  std::vector<std::string> reasons;  // ids of findings; empty: stalled
  NodeJobsOptions options;
  options.on_suspected = [&](const std::vector<api::SuspectedJob>& suspected, const collect::SeenJobs& seen,
                             Instant) {
    EXPECT_EQ(seen.jobs.size(), 1U);
    for (const api::SuspectedJob& one : suspected)
      if (reasons.empty() || reasons.back() != one.finding) reasons.push_back(one.finding);
  };
  NodeJobs jobs = make(options);
  run(jobs, 3min);
  EXPECT_THAT(reasons, IsEmpty());
  machine_.steps = false;
  machine_.stopped_rank = 2;
  run(jobs, 3min);
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons.back(), jobs.brain().report("a")->findings.at(0).id);
  EXPECT_THAT(jobs.snapshot()->suspects.of("n0"), SizeIs(1));
  EXPECT_THAT(jobs.snapshot()->suspects.of("n1"), IsEmpty());
}

TEST_F(NodeJobsTest, a_suspicion_of_the_controller_counts_until_it_takes_it_back) {
  machine_.jobs = {job_of("a")};
  std::vector<api::SuspectedJob> now;
  NodeJobsOptions options;
  options.brain_at = api::JobBrain::controller;
  options.on_suspected = [&](const auto& suspected, const auto&, Instant) { now = suspected; };
  NodeJobs jobs = make(options);
  jobs.suspect({{"a", "00c0ffee00c0ffee"}});
  run(jobs, 10s);
  EXPECT_EQ(now, (std::vector<api::SuspectedJob>{{"a", "00c0ffee00c0ffee"}}));
  jobs.suspect({});
  run(jobs, 2s);
  EXPECT_THAT(now, IsEmpty());
}

TEST_F(NodeJobsTest, begin_and_end_of_a_job_are_told_with_its_gpus) {
  std::vector<JobSpan> begun, ended;
  NodeJobsOptions options;
  options.on_begin = [&begun](const JobSpan& span) { begun.push_back(span); };
  options.on_end = [&ended](const JobSpan& span) { ended.push_back(span); };
  machine_.jobs = {job_of("a")};
  machine_.jobs[0].processes[1].gpus = {1};
  NodeJobs jobs = make(options);
  run(jobs, 1min);
  ASSERT_THAT(begun, SizeIs(1));
  EXPECT_THAT(ended, IsEmpty());
  machine_.jobs.clear();
  machine_.ended = {{.time = machine_.clock.now().wall, .job = "a"}};
  run(jobs, 10s);
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].job, "a");
  EXPECT_EQ(ended[0].begin, kBegin);
  EXPECT_THAT(ended[0].gpus, testing::ElementsAre(1));
}

TEST_F(NodeJobsTest, a_search_that_fails_ends_no_job_and_is_stated) {
  machine_.jobs = {job_of("a")};
  NodeJobs jobs = make();
  run(jobs, 1min);
  machine_.search_error = Error{Errc::denied, "/proc cannot be read"};
  run(jobs, 1min);
  EXPECT_EQ(machine_.polls, 120);
  EXPECT_EQ(count<jobs::JobEndRecord>(), 0U);
  EXPECT_THAT(jobs.snapshot()->list.not_seen, Contains(HasSubstr("/proc cannot be read")));
  machine_.search_error.reset();
  run(jobs, 10s);
  EXPECT_THAT(jobs.snapshot()->list.not_seen, Not(Contains(HasSubstr("/proc cannot be read"))));
}

TEST_F(NodeJobsTest, a_source_that_throws_adds_nothing_and_is_stated) {
  machine_.jobs = {job_of("a")};
  machine_.throws = true;
  NodeJobs jobs = make();
  run(jobs, 1min);
  EXPECT_EQ(count<jobs::HeartbeatRecord>(), 0U);
  EXPECT_EQ(jobs.snapshot()->counts.source_errors, 60U);
  EXPECT_THAT(jobs.snapshot()->list.not_seen, Contains(HasSubstr("out of patience")));
}

TEST_F(NodeJobsTest, a_source_that_blocks_is_stated) {
  machine_.jobs = {job_of("a")};
  machine_.poll_takes = 4s;
  NodeJobs jobs = make();
  run(jobs, 10s);
  EXPECT_THAT(jobs.snapshot()->list.not_seen, Contains(HasSubstr("held up the others")));
}

TEST_F(NodeJobsTest, sources_are_polled_once_more_after_the_last_job) {
  machine_.jobs = {job_of("a")};
  NodeJobs jobs = make();
  run(jobs, 20s);
  machine_.jobs.clear();
  machine_.ended = {{.time = machine_.clock.now().wall, .job = "a", .outcome = jobs::Outcome::unknown}};
  const int before = machine_.polls;
  run(jobs, 2min);
  EXPECT_EQ(machine_.polls, before + 1);
  EXPECT_EQ(count<jobs::JobEndRecord>(), 1U);
  EXPECT_TRUE(jobs.brain().report("a")->ended.has_value());
  EXPECT_THAT(jobs.present(), IsEmpty());
}

TEST_F(NodeJobsTest, records_are_only_sent_where_the_controller_evaluates) {
  machine_.jobs = {job_of("a")};
  std::size_t sent = 0;
  NodeJobsOptions options;
  options.brain_at = api::JobBrain::controller;
  options.send = [&](const std::vector<jobs::Record>& records) { sent += records.size(); };
  NodeJobs jobs = make(options);
  run(jobs, 1min);
  EXPECT_GT(sent, 60U);
  EXPECT_THAT(jobs.snapshot()->list.jobs, IsEmpty());
  EXPECT_GT(whole_.size(), 60U);  // followers get them still
}

TEST_F(NodeJobsTest, records_beyond_the_limit_are_dropped_and_counted) {
  NodeJobs jobs = make();
  std::vector<jobs::Record> many(NodeJobs::kMostWaiting + 7,
                                 jobs::LinkRecord{.time = kBegin, .node = "n0", .nic = "mlx5_0"});
  jobs.add(std::move(many));
  (void)jobs.run();
  EXPECT_EQ(jobs.snapshot()->counts.dropped, 7U);
}

TEST_F(NodeJobsTest, metrics_count_jobs_findings_and_records) {
  machine_.jobs = {job_of("a")};
  NodeJobs jobs = make();
  run(jobs, 1min);
  const std::string text = render_jobs_metrics(*jobs.snapshot());
  EXPECT_THAT(text, HasSubstr("autopilot_jobs{health=\"running\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("autopilot_job_findings{effect=\"hang\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("autopilot_job_polls_total 60\n"));
}

}  // namespace
}  // namespace autopilot::agent::node_jobs_test
